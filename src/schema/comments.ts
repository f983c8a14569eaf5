// Comments live beside the columns in our code, not in migrations: a better sentence is no change
// of the schema.

import {getTableConfig} from 'drizzle-orm/pg-core';
import pg from 'pg';
import type {Comment, CommentedTable} from '../postgres/tables.ts';
import {type MirrorTable, ownColumns} from '../streams/table.ts';
import {toDrizzle} from './drizzle-table.ts';

const schemas: Readonly<Record<string, string>> = {
  warehouse:
    'Current rows of the mirrored accounts, one table for each kind of object; deleted ones are marked.',
  history:
    'Every version of every warehouse row: a view of each table with all its versions, and a function that gives the table as it was at a moment.',
  mart: 'For BI tools: the star (dim_, fct_) and its answers (ask_), each also as of any moment; the live records of each warehouse table, without our bookkeeping and with the promoted fields as columns; and what is wanted but not agreed.',
  masked:
    'The star of one account, with the keys of people in place of their names: for assistants.',
  sync: 'What the mirror must remember for its work: accounts, sweeps, schedules, quarantine.',
};

/** A mirror table's comments: its own columns' and ours. */
export function commentsOf(table: MirrorTable): CommentedTable {
  const columns = Object.fromEntries(table.columns.map((column) => [column.name, column.comment]));
  return {drizzle: toDrizzle(table), comment: table.comment, columns: {...ownColumns, ...columns}};
}

/**
 * Brings the comments in the database in line with those of the definitions; a comment that agrees
 * is not touched.
 * @param more - comments on things that are no tables of drizzle
 * @returns how many were written
 */
export async function writeComments(
  client: pg.ClientBase,
  tables: readonly CommentedTable[],
  more: readonly Comment[] = [],
): Promise<number> {
  const held = new Map(
    (await readComments(client)).map((comment) => [place(comment), comment.text]),
  );
  const wanted = [...schemaComments(), ...tables.flatMap(tableComments), ...more];
  const different = wanted.filter((comment) => held.get(place(comment)) !== comment.text);
  if (different.length > 0) await client.query(different.map(statement).join(';\n'));
  return different.length;
}

function schemaComments(): Comment[] {
  return Object.entries(schemas).map(([schema, text]) => ({kind: 'SCHEMA', name: [schema], text}));
}

function tableComments({drizzle, comment, columns}: CommentedTable): Comment[] {
  const {schema = 'public', name: table} = getTableConfig(drizzle);
  return [
    {kind: 'TABLE', name: [schema, table], text: comment},
    ...Object.entries(columns).map(
      ([column, text]): Comment => ({kind: 'COLUMN', name: [schema, table, column], text}),
    ),
  ];
}

async function readComments(client: pg.ClientBase): Promise<Comment[]> {
  const {rows} = await client.query<Comment>(
    `SELECT 'SCHEMA' AS kind, ARRAY[nspname::text] AS name, '' AS "argumentTypes", obj_description(oid, 'pg_namespace') AS text
       FROM pg_namespace WHERE nspname = ANY ($1)
      UNION ALL
     SELECT CASE WHEN comment.objsubid > 0 THEN 'COLUMN' WHEN class.relkind = 'v' THEN 'VIEW' ELSE 'TABLE' END,
            array_remove(ARRAY[namespace.nspname::text, class.relname::text, attribute.attname::text], NULL), '', comment.description
       FROM pg_namespace AS namespace
       JOIN pg_class AS class ON class.relnamespace = namespace.oid AND class.relkind IN ('r', 'v')
       JOIN pg_description AS comment ON comment.objoid = class.oid AND comment.classoid = 'pg_class'::regclass
       LEFT JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid AND attribute.attnum = comment.objsubid
                                          AND comment.objsubid > 0
      WHERE namespace.nspname = ANY ($1)
      UNION ALL
     SELECT 'FUNCTION', ARRAY[namespace.nspname::text, function.proname::text],
            oidvectortypes(function.proargtypes), obj_description(function.oid, 'pg_proc')
       FROM pg_namespace AS namespace JOIN pg_proc AS function ON function.pronamespace = namespace.oid
      WHERE namespace.nspname = ANY ($1)`,
    [Object.keys(schemas)],
  );
  return rows;
}

function place({kind, name, argumentTypes = ''}: Comment): string {
  return JSON.stringify([kind, name, argumentTypes]);
}

function statement({kind, name, argumentTypes, text}: Comment): string {
  const path = name.map((part) => pg.escapeIdentifier(part)).join('.');
  const types = kind === 'FUNCTION' ? ` (${argumentTypes ?? ''})` : '';
  return `COMMENT ON ${kind} ${path}${types} IS ${pg.escapeLiteral(text)}`;
}
