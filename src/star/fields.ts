// Reads the fields that were ever seen, and gives them names. A name makes a column of the view of
// their table in mart.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {findColumn, nameTable} from '../rows/table-sql.ts';
import type {MirrorTable} from '../streams/table.ts';
import type {fieldEvents, fields} from './tables.ts';

const fieldColumns = [
  'account_id',
  'table_name',
  'field',
  'types',
  'column_name',
  'filled_share',
  'first_seen_at',
  'last_seen_at',
  'vanished_at',
  'promoted_as',
] as const;

/** A field that was ever seen: a row of sync.fields, whose definition explains each column. */
export type Field = ReadRow<typeof fields.$inferSelect, (typeof fieldColumns)[number]>;

const eventColumns = [
  'event_id',
  'account_id',
  'table_name',
  'field',
  'kind',
  'detail',
  'sweep_id',
  'at',
] as const;

/** A change in the fields that the service sends: a row of sync.field_events. */
export type FieldEvent = ReadRow<typeof fieldEvents.$inferSelect, (typeof eventColumns)[number]>;

/** Fields of some accounts by table and name. @param field - null: all */
export async function listFields(
  db: Queryable,
  query: {
    readonly accountIds: readonly string[];
    readonly table: string;
    readonly field: string | null;
    readonly limit: number;
  },
): Promise<Field[]> {
  const {rows} = await db.query<Field>(
    `SELECT ${selectColumns(fieldColumns)} FROM sync.fields
      WHERE account_id = ANY ($1) AND table_name = $2 AND ($3::text IS NULL OR field = $3)
      ORDER BY field, account_id LIMIT $4`,
    [query.accountIds, query.table, query.field, query.limit],
  );
  return rows;
}

/** How many fields each table has, and how many of them were given a name. */
export async function countFields(
  db: Queryable,
  accountIds: readonly string[],
): Promise<{readonly table: string; readonly count: number; readonly promoted: number}[]> {
  const {rows} = await db.query<{table: string; count: number; promoted: number}>(
    `SELECT table_name AS "table", count(DISTINCT field)::integer AS count,
            count(promoted_as)::integer AS promoted
       FROM sync.fields WHERE account_id = ANY ($1) GROUP BY table_name ORDER BY table_name`,
    [accountIds],
  );
  return rows;
}

/** The fields of a table that were given a name, with their names. */
export async function listPromoted(
  db: Queryable,
  {accountId, tableName}: {readonly accountId: string; readonly tableName: string},
): Promise<ReadonlyMap<string, string>> {
  const {rows} = await db.query<{field: string; name: string}>(
    `SELECT field, promoted_as AS name FROM sync.fields
      WHERE account_id = $1 AND table_name = $2 AND promoted_as IS NOT NULL ORDER BY field`,
    [accountId, tableName],
  );
  return new Map(rows.map(({field, name}) => [field, name]));
}

/**
 * Changes in the fields of some accounts in the last days, the latest first. @param field - null:
 * any
 */
export async function listFieldEvents(
  db: Queryable,
  query: {
    readonly accountIds: readonly string[];
    readonly days: number;
    readonly table: string | null;
    readonly field: string | null;
    readonly limit: number;
  },
): Promise<FieldEvent[]> {
  const {rows} = await db.query<FieldEvent>(
    `SELECT ${selectColumns(eventColumns)} FROM sync.field_events
      WHERE account_id = ANY ($1) AND at > now() - $2 * interval '1 day'
        AND ($3::text IS NULL OR table_name = $3) AND ($4::text IS NULL OR field = $4)
      ORDER BY at DESC, event_id DESC LIMIT $5`,
    [query.accountIds, query.days, query.table, query.field, query.limit],
  );
  return rows;
}

/** The number of rows that are searched for examples: those of the highest numbers. */
const exampleRows = 500;

/** Up to three values of a field, of recent rows. @param column - null if it is kept in `extra` */
export async function readExamples(
  db: Queryable,
  table: MirrorTable,
  query: {readonly accountId: string; readonly field: string; readonly column: string | null},
): Promise<string[]> {
  const {accountId, field, column} = query;
  if (column !== null) findColumn(table, column);
  const value = column === null ? `extra ->> $2::text` : `${pg.escapeIdentifier(column)}::text`;
  const keys = table.key.map((name) => `${pg.escapeIdentifier(name)} DESC`).join(', ');
  const {rows} = await db.query<{value: string}>(
    `SELECT DISTINCT left(value, 200) AS value
       FROM (SELECT ${value} AS value FROM ${nameTable(table)}
              WHERE account_id = $1 AND $2::text IS NOT NULL
              ORDER BY account_id DESC, ${keys} LIMIT ${exampleRows}) AS late
      WHERE value <> '' LIMIT 3`,
    [accountId, field],
  );
  return rows.map((row) => row.value);
}

/**
 * Gives a field a name, under which it becomes a column of mart, or removes the name.
 * @param naming.was - the name that it had when the person decided
 * @returns false if it has another name by now: nothing is written
 * @throws {pg.DatabaseError} the name is not possible, with the reason
 */
export async function nameField(
  db: Queryable,
  naming: Pick<Field, 'accountId' | 'field'> & {
    readonly table: string;
    readonly was: string | null;
    readonly name: string | null;
  },
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.fields SET promoted_as = $5
      WHERE account_id = $1 AND table_name = $2 AND field = $3
        AND promoted_as IS NOT DISTINCT FROM $4`,
    [naming.accountId, naming.table, naming.field, naming.was, naming.name],
  );
  return rowCount === 1;
}

/** A field of an account that is a column of mart. */
interface Promotion {
  readonly account: string;
  readonly table: string;
  readonly field: string;
  /** Name of the column. */
  readonly name: string;
  /** The types that the field was sent with. */
  readonly types: readonly string[];
}

/** The promoted fields of every account. */
export async function listPromotions(db: Queryable): Promise<Promotion[]> {
  const {rows} = await db.query<Promotion>(
    `SELECT account.name AS account, table_name AS "table", field, promoted_as AS name, types
       FROM sync.fields JOIN sync.accounts AS account USING (account_id)
      WHERE promoted_as IS NOT NULL ORDER BY account.name, table_name, field`,
  );
  return rows;
}

/** The fields without a column that sweeps have seen, by account and table, as in `north jobs`. */
export async function listSeenFields(db: Queryable): Promise<Map<string, string[]>> {
  const {rows} = await db.query<{place: string; fields: string[]}>(
    `SELECT account.name || ' ' || table_name AS place, array_agg(field ORDER BY field) AS fields
       FROM sync.fields JOIN sync.accounts AS account USING (account_id)
      WHERE last_sweep_id > 0 AND (column_name IS NULL OR promoted_as IS NOT NULL)
        AND 'secret' <> ALL (types)
      GROUP BY account.name, table_name`,
  );
  return new Map(rows.map(({place, fields}) => [place, fields]));
}

/**
 * Promotes a field. If no sweep has seen it yet, it is listed with the types given, so that its
 * column has the right type from the start.
 * @param stream - the stream whose records contain the field
 * @throws {UsageError} the name cannot be a column's, or a view of others prevents it
 */
export async function promoteField(
  db: Queryable,
  {account, table, field, name, types, stream}: Promotion & {readonly stream: string},
): Promise<void> {
  await writePromotion(
    db,
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id,
       promoted_as)
     SELECT account_id, $2::text, $3::text, $4::text, $5::text[], 0, $6::text FROM sync.accounts
      WHERE name = $1
         ON CONFLICT (account_id, table_name, field) DO UPDATE
        SET promoted_as = EXCLUDED.promoted_as`,
    [account, table, field, stream, types, name],
  );
}

/**
 * Removes the column of a field; its values stay in `extra`. A field that no sweep has seen is no
 * longer listed.
 * @throws {UsageError} a view of others depends on the column
 */
export async function demoteField(
  db: Queryable,
  {account, table, field}: Pick<Promotion, 'account' | 'table' | 'field'>,
): Promise<void> {
  await writePromotion(
    db,
    `WITH unseen AS (
       DELETE FROM sync.fields AS held USING sync.accounts AS account
        WHERE account.account_id = held.account_id AND account.name = $1 AND table_name = $2
          AND field = $3 AND last_sweep_id = 0
     )
     UPDATE sync.fields AS held SET promoted_as = NULL FROM sync.accounts AS account
      WHERE account.account_id = held.account_id AND account.name = $1 AND table_name = $2
        AND field = $3 AND last_sweep_id > 0`,
    [account, table, field],
  );
}

/**
 * SQLSTATE of the refusals of sync.check_promotion and sync.build_mart_view, whose messages are
 * written for a person.
 */
const refusals: ReadonlySet<string | undefined> = new Set([
  '42701',
  '42602',
  '42P01',
  '22023',
  '2BP01',
]);

async function writePromotion(
  db: Queryable,
  sql: string,
  values: readonly unknown[],
): Promise<void> {
  try {
    await db.query(sql, [...values]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !refusals.has(error.code)) throw error;
    throw new UsageError(
      [error.message, ...(error.hint === undefined ? [] : [error.hint])].join('; '),
      {
        cause: error,
      },
    );
  }
}
