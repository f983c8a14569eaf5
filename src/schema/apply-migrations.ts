// Brings the schema up to date: migrations, definitions, functions, comments. Comments are kept
// next to the columns in our code, not in migrations, because a better sentence does not change the
// schema.

import {readMigrationFiles} from 'drizzle-orm/migrator';
import {bigint, getTableConfig, integer, text} from 'drizzle-orm/pg-core';
import pg from 'pg';
import {syncSchema} from '../accounts/tables.ts';
import {applyCapturedTables, applyWriteRules} from '../changes/authored-rows.ts';
import {applyTransitions} from '../changes/states.ts';
import {FatalError} from '../core/errors.ts';
import {type Comment, type CommentedTable, commentTable} from '../postgres/tables.ts';
import {applyRetention} from '../retention/retention.ts';
import {applyStar, dropStarLeftovers, starComments} from '../star/mart.ts';
import {martTables} from '../star/tables.ts';
import {type MirrorTable, ownColumns, type WarehouseTable} from '../streams/table.ts';
import {type Definitions, migrationsFolder, type Source} from './checks.ts';
import {syncTables, toDrizzle} from './tables.ts';

/** src/postgres/migrations.ts makes this table as drizzle would; no migration does. */
const migrationsTable = commentTable(
  syncSchema.table('migrations', {
    id: integer(),
    hash: text(),
    created_at: bigint({mode: 'number'}),
  }),
  'Changes of the schema that were applied to this database.',
  {
    id: 'Number of the entry.',
    hash: 'SHA-256 of the migration as it was applied.',
    created_at: 'When the migration was written, in milliseconds since 1970.',
  },
);

/**
 * Runs the missing migrations and brings all else in line with the code, all or nothing: if the
 * last function fails, no table is left either. drizzle only reads the files; if drizzle ran them,
 * they would be a separate transaction. The caller has the turn.
 * @param applied - hashes of the migrations that the database has
 */
export async function applyMigrations(
  client: pg.ClientBase,
  {
    definitions,
    source,
    applied,
  }: {
    readonly definitions: Definitions;
    readonly source: Source;
    readonly applied: readonly string[];
  },
): Promise<void> {
  await client.query('BEGIN');
  try {
    const missing = readMigrationFiles({migrationsFolder}).filter(
      ({hash}) => !applied.includes(hash),
    );
    for (const {sql, hash, folderMillis} of missing) {
      for (const statement of sql) await runStatement(client, statement);
      await client.query('INSERT INTO sync.migrations (hash, created_at) VALUES ($1, $2)', [
        hash,
        folderMillis,
      ]);
    }
    await applyDefinitions(client, definitions, source);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/** Column, table or index, and trigger or constraint: each exists already. */
const duplicates: readonly (string | undefined)[] = ['42701', '42P07', '42710'];

/** @throws {FatalError} a person made something in our schemas that has the name of a new object */
async function runStatement(client: pg.ClientBase, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !duplicates.includes(error.code)) throw error;
    throw new FatalError(
      `migrations: ${error.message}, and no migration that was applied here made it; rename it ` +
        'or drop it, then run `fieldmirror migrate` again; nothing was changed',
      {cause: error, kind: 'schema'},
    );
  }
}

/**
 * Applies the functions, the transitions between states, the captured tables, the write rules, the
 * retention, the star and every comment.
 */
export async function applyDefinitions(
  client: pg.ClientBase,
  {tables, star}: Definitions,
  source: Source,
): Promise<void> {
  await applySource(client, tables, source);
  await applyTransitions(client);
  await applyCapturedTables(client, tables);
  await client.query('SELECT sync.guard_forgotten()');
  await applyWriteRules(client, tables);
  await applyRetention(client);
  await applyStar(client, star);
  await dropStarLeftovers(client, star);
  await commentSource(client, source);
  await applyComments(client, {tables, star});
}

/**
 * Brings comments, the views of mart and the grants in line with the code; a comment that agrees is
 * not touched.
 */
export async function applyComments(
  client: pg.ClientBase,
  {tables, star}: Definitions,
): Promise<void> {
  const commentedTables = [
    ...tables.map(toCommentedTable),
    ...syncTables,
    ...martTables,
    migrationsTable,
  ];
  await writeComments(client, commentedTables, [
    ...listHistoryComments(tables),
    ...starComments(star),
  ]);
  // The views of mart show every existing column, each with its comment.
  await client.query('SELECT sync.build_mart()');
  await client.query('SELECT sync.grant_roles()');
}

const schemas: Readonly<Record<string, string>> = {
  warehouse:
    'Current rows of the mirrored accounts, one table for each kind of object; ' +
    'deleted ones are marked.',
  history:
    'Every version of every warehouse row: a view of each table with all its versions, ' +
    'and a function that gives the table as it was at a given time.',
  mart:
    'For BI tools: the star (dim_, fct_) and its answers (ask_), each also as of any moment; ' +
    'the live records of each warehouse table, without our bookkeeping and with the promoted ' +
    'fields as columns; and what is wanted but not agreed.',
  masked:
    'The star of one account, with the keys of people in place of their names: for assistants.',
  sync: 'What the mirror must remember for its work: accounts, sweeps, schedules, quarantine.',
};

/** A mirror table's comments: its own columns' and ours. */
function toCommentedTable(table: MirrorTable): CommentedTable {
  const columns = Object.fromEntries(table.columns.map((column) => [column.name, column.comment]));
  return {drizzle: toDrizzle(table), comment: table.comment, columns: {...ownColumns, ...columns}};
}

/**
 * Brings the comments in the database in line with those of the definitions; a comment that agrees
 * is not touched.
 * @param more - comments on objects that are not tables of drizzle
 * @returns how many were written
 */
async function writeComments(
  client: pg.ClientBase,
  tables: readonly CommentedTable[],
  more: readonly Comment[] = [],
): Promise<number> {
  const currentTexts = new Map(
    (await readComments(client)).map((comment) => [makeKey(comment), comment.text]),
  );
  const comments = [...listSchemaComments(), ...tables.flatMap(listTableComments), ...more];
  const changedComments = comments.filter(
    (comment) => currentTexts.get(makeKey(comment)) !== comment.text,
  );
  if (changedComments.length > 0) await client.query(changedComments.map(toStatement).join(';\n'));
  return changedComments.length;
}

function listSchemaComments(): Comment[] {
  return Object.entries(schemas).map(([schema, text]) => ({kind: 'SCHEMA', name: [schema], text}));
}

function listTableComments({drizzle, comment, columns}: CommentedTable): Comment[] {
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
    `SELECT 'SCHEMA' AS kind, ARRAY[nspname::text] AS name, '' AS "argumentTypes",
            obj_description(oid, 'pg_namespace') AS text
       FROM pg_namespace WHERE nspname = ANY ($1)
      UNION ALL
     SELECT CASE WHEN comment.objsubid > 0 THEN 'COLUMN' WHEN class.relkind = 'v' THEN 'VIEW'
       ELSE 'TABLE' END,
            array_remove(ARRAY[namespace.nspname::text, class.relname::text,
              attribute.attname::text], NULL), '', comment.description
       FROM pg_namespace AS namespace
       JOIN pg_class AS class ON class.relnamespace = namespace.oid AND class.relkind IN ('r', 'v')
       JOIN pg_description AS comment ON comment.objoid = class.oid
         AND comment.classoid = 'pg_class'::regclass
       LEFT JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
         AND attribute.attnum = comment.objsubid
                                          AND comment.objsubid > 0
      WHERE namespace.nspname = ANY ($1)
      UNION ALL
     SELECT 'FUNCTION', ARRAY[namespace.nspname::text, function.proname::text],
            oidvectortypes(function.proargtypes), obj_description(function.oid, 'pg_proc')
       FROM pg_namespace AS namespace
         JOIN pg_proc AS function ON function.pronamespace = namespace.oid
      WHERE namespace.nspname = ANY ($1)`,
    [Object.keys(schemas)],
  );
  return rows;
}

function makeKey({kind, name, argumentTypes = ''}: Comment): string {
  return JSON.stringify([kind, name, argumentTypes]);
}

function toStatement({kind, name, argumentTypes, text}: Comment): string {
  const path = name.map((part) => pg.escapeIdentifier(part)).join('.');
  const types = kind === 'FUNCTION' ? ` (${argumentTypes ?? ''})` : '';
  return `COMMENT ON ${kind} ${path}${types} IS ${pg.escapeLiteral(text)}`;
}

type Columns = Readonly<Record<string, string>>;

const validToText =
  'Until when the version held: from this moment on the next one does, ' +
  'or none where the row was removed.';

const editColumns: Columns = {
  row_id: 'The row.',
  table_name: 'Its table in warehouse.',
  at: 'When the version begins that was written; of a removal, when the last version ended.',
  kind: 'insert, update or delete; to empty a table is a delete of each row.',
  written_by: 'Database user who was logged in.',
  application: 'What the connection called itself: application_name.',
};

/** The comments of the schema `history`, for all objects that keep the versions of these tables. */
function listHistoryComments(tables: readonly MirrorTable[]): Comment[] {
  return [
    ...toComments('TABLE', 'edits', {
      text: 'Who wrote the versions of rows that no sweep wrote, and who removed rows.',
      columns: editColumns,
    }),
    ...tables.flatMap(listHistoryTableComments),
  ];
}

function listHistoryTableComments({name, comment, columns}: MirrorTable): Comment[] {
  const columnTexts = {
    ...ownColumns,
    ...Object.fromEntries(columns.map((column) => [column.name, column.comment])),
  };
  return [
    ...toComments('TABLE', `past_${name}`, {
      text: `Superseded versions of the rows of warehouse.${name}; history.${name} shows all.`,
      columns: {valid_to: validToText, ...columnTexts},
    }),
    ...toComments('VIEW', name, {
      text: `${comment} Every version of every row, with the time for which it held.`,
      columns: {
        valid_from: 'When the version began: when the transaction that wrote it began.',
        valid_to: `${validToText} Null while it holds.`,
        written_by:
          'Database user who wrote the version, where no sweep did: see also history.edits.',
        ...columnTexts,
      },
    }),
    {
      kind: 'FUNCTION',
      name: ['history', `${name}_as_of`],
      argumentTypes: 'timestamp with time zone',
      text:
        `${comment} The rows that lived at a given time, as they were then. ` +
        'A time is settled once every transaction begun before it has ended.',
    },
    {
      kind: 'FUNCTION',
      name: ['history', `all_${name}_as_of`],
      argumentTypes: 'timestamp with time zone',
      text: `history.${name}_as_of, with the rows that were marked as deleted by then.`,
    },
  ];
}

function toComments(
  kind: 'TABLE' | 'VIEW',
  name: string,
  texts: {readonly text: string; readonly columns: Columns},
): Comment[] {
  const {text, columns} = texts;
  return [
    {kind, name: ['history', name], text},
    ...Object.entries(columns).map(
      ([column, sentence]): Comment => ({
        kind: 'COLUMN',
        name: ['history', name, column],
        text: sentence,
      }),
    ),
  ];
}

/**
 * Brings every function and trigger in line with the source, and removes those that it no longer
 * has. The caller has begun a transaction.
 * @throws {FatalError} Postgres refuses a file; the message names the file
 */
async function applySource(
  client: pg.ClientBase,
  tables: readonly WarehouseTable[],
  source: Source,
): Promise<void> {
  // Functions refer to each other, so a body is not checked until it first runs.
  await client.query('SET LOCAL check_function_bodies = off');
  for (const {name, text} of source.files)
    await runFile(client, name, text.replace(functionComments, emptyLines));
  for (const table of tables) await applyTable(client, table);
  await client.query(dropLeftovers);
  await client.query(
    `INSERT INTO sync.source (version, hash) VALUES ($1, $2)
         ON CONFLICT (only_row) DO UPDATE
           SET version = EXCLUDED.version, hash = EXCLUDED.hash, applied_at = now()`,
    [source.version, source.hash],
  );
}

/**
 * Sets the comments of the functions, which name them without their arguments. So an earlier
 * signature of the same name must already be dropped.
 */
async function commentSource(client: pg.ClientBase, source: Source): Promise<void> {
  for (const {name, text} of source.files)
    await runFile(client, name, text.match(functionComments)?.join('\n') ?? '');
}

const functionComments = /^COMMENT ON FUNCTION [\w.]+\s+IS\s+'(?:[^']|''|'\n\s+')*';/gm;
/** Keeps the line breaks of a comment, so that the numbers of the lines after it stay the same. */
const emptyLines = (comment: string) => comment.replace(/[^\n]+/g, '');

async function runFile(client: pg.ClientBase, name: string, text: string): Promise<void> {
  try {
    await client.query(text);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    const line =
      error.position === undefined ? '' : `, line ${findLineNumber(text, Number(error.position))}`;
    throw new FatalError(`migrations/functions/${name}${line}: ${error.message}`, {cause: error});
  }
}

function findLineNumber(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}

async function applyTable(client: pg.ClientBase, table: WarehouseTable): Promise<void> {
  const {name, origin} = table;
  await client.query('SELECT history.keep($1, $2, $3)', [
    name,
    origin.embeddedIn,
    origin.parentColumn,
  ]);
  await client.query('SELECT sync.capture($1)', [name]);
}

// If one of our functions or triggers is older than this transaction, the source no longer has it.
// Functions of extensions are not ours; a trigger is ours if its function is.
const dropLeftovers = `
DO $$
DECLARE
  leftover record;
BEGIN
  FOR leftover IN
    SELECT tgname AS name, tgrelid::regclass AS place
      FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
     WHERE NOT tgisinternal AND pronamespace IN ('sync'::regnamespace, 'history'::regnamespace)
       AND age(pg_trigger.xmin) > 0
  LOOP
    EXECUTE format('DROP TRIGGER %I ON %s', leftover.name, leftover.place);
  END LOOP;
  FOR leftover IN
    SELECT oid::regprocedure AS name FROM pg_proc
     WHERE pronamespace IN ('sync'::regnamespace, 'history'::regnamespace) AND age(pg_proc.xmin) > 0
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
         AND objid = pg_proc.oid AND deptype = 'e')
  LOOP
    EXECUTE format('DROP FUNCTION %s', leftover.name);
  END LOOP;
END $$`;
