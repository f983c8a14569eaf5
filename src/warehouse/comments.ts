// Comments live beside the columns in our code, not in migrations: a better sentence is no change of the schema.

import {getTableConfig} from 'drizzle-orm/pg-core';
import pg from 'pg';
import type {CommentedTable} from './commented-table.ts';
import {toDrizzle} from './drizzle-table.ts';
import {type MirrorTable, ownColumns} from './mirror-table.ts';

/** What a comment is about; the table is null for a schema, the column for a table. */
interface Comment {
  readonly schema: string;
  readonly table: string | null;
  readonly column: string | null;
  readonly text: string | null;
}

const schemas: Readonly<Record<string, string>> = {
  warehouse:
    'Current rows of the mirrored accounts, one table for each kind of object; deleted ones are marked.',
  sync: 'What the mirror must remember for its work: accounts, sweeps, schedules, quarantine.',
};

/** A mirror table's comments: its own columns' and ours. */
export function commentsOf(table: MirrorTable): CommentedTable {
  const columns = Object.fromEntries(table.columns.map((column) => [column.name, column.comment]));
  return {drizzle: toDrizzle(table), comment: table.comment, columns: {...ownColumns, ...columns}};
}

/**
 * Brings the comments in the database in line with those of the definitions; what agrees already is not touched.
 * @returns how many were written
 */
export async function applyComments(
  client: pg.ClientBase,
  tables: readonly CommentedTable[],
): Promise<number> {
  const held = new Map((await readComments(client)).map((comment) => [place(comment), comment.text]));
  const wanted = [...schemaComments(), ...tables.flatMap(tableComments)];
  const different = wanted.filter((comment) => held.get(place(comment)) !== comment.text);
  if (different.length > 0) await client.query(different.map(statement).join(';\n'));
  return different.length;
}

function schemaComments(): Comment[] {
  return Object.entries(schemas).map(([schema, text]) => ({schema, table: null, column: null, text}));
}

function tableComments({drizzle, comment, columns}: CommentedTable): Comment[] {
  const {schema = 'public', name: table} = getTableConfig(drizzle);
  return [
    {schema, table, column: null, text: comment},
    ...Object.entries(columns).map(([column, text]) => ({schema, table, column, text})),
  ];
}

async function readComments(client: pg.ClientBase): Promise<Comment[]> {
  const {rows} = await client.query<Comment>(
    `SELECT namespace.nspname AS schema, NULL AS table, NULL AS column, obj_description(namespace.oid, 'pg_namespace') AS text
       FROM pg_namespace AS namespace WHERE namespace.nspname = ANY ($1)
      UNION ALL
     SELECT namespace.nspname, class.relname, attribute.attname, comment.description
       FROM pg_namespace AS namespace
       JOIN pg_class AS class ON class.relnamespace = namespace.oid AND class.relkind = 'r'
       JOIN pg_description AS comment ON comment.objoid = class.oid AND comment.classoid = 'pg_class'::regclass
       LEFT JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid AND attribute.attnum = comment.objsubid
                                          AND comment.objsubid > 0
      WHERE namespace.nspname = ANY ($1)`,
    [Object.keys(schemas)],
  );
  return rows;
}

function place({schema, table, column}: Comment): string {
  return JSON.stringify([schema, table, column]);
}

function statement({schema, table, column, text}: Comment): string {
  const names = [schema, table, column].flatMap((name) => (name === null ? [] : pg.escapeIdentifier(name)));
  const kind = table === null ? 'SCHEMA' : column === null ? 'TABLE' : 'COLUMN';
  return `COMMENT ON ${kind} ${names.join('.')} IS ${pg.escapeLiteral(text ?? '')}`;
}
