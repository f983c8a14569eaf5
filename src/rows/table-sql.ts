// The statements that read and load the rows of a table, also by the changes that were done a short
// while ago: a reading from the service may be older than they are. Every name in these statements
// comes from a table's definition in our own code, and is still quoted. Nothing that the service
// sent ever becomes a name.

import {createHash} from 'node:crypto';
import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {ColumnType, MirrorTable} from '../streams/table.ts';

/**
 * As SQL, the recent changes that match a condition on `own`, in their order, as JSON. A value that
 * lost a conflict was not written, and has replaced nothing.
 */
export const recentWrites = (condition: string) => `
  coalesce((SELECT jsonb_agg(jsonb_build_object(
                     'operation', own.operation, 'base', own.base,
                     'fields', own.fields - ARRAY(
                       SELECT lost.field FROM sync.conflicts AS lost
                        WHERE lost.change_id = own.change_id AND lost.winner = 'service'
                          AND lost.warehouse_value = own.fields->lost.field),
                     'agoMs', extract(epoch FROM now() - own.settled_at) * 1000,
                     'made', coalesce(own.result->'altered', '{}')
                             || coalesce(own.result->'tidied', '{}')) ORDER BY own.change_id)
              FROM sync.changes AS own
             WHERE ${condition} AND own.state = 'done'
               AND own.settled_at > now() - ${lagLimit}), '[]')`;

/**
 * As SQL, the recent changes of a row of a table; null if its account has no recent change at all.
 */
function recentWritesOf({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return 'NULL::jsonb';
  return `CASE WHEN ${hasRecentChange('$1')} THEN ${recentWrites(isChangeOf(name, row))} END`;
}

/**
 * As SQL, whether a change that was done a short while ago wrote the current version of the row.
 */
function isWrittenLately(row: string): string {
  return `EXISTS (SELECT FROM sync.changes AS own WHERE own.change_id = ${row}._change_id
            AND own.settled_at > now() - ${lagLimit})`;
}

/**
 * As SQL, whether a change made the row a short while ago; for a table without writable fields,
 * whether one has written the row then.
 */
function isMadeLately({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return isWrittenLately(row);
  return `EXISTS (SELECT FROM sync.changes AS own WHERE ${isChangeOf(name, row)}
            AND own.operation = 'create' AND own.state = 'done'
                     AND own.settled_at > now() - ${lagLimit})`;
}

/**
 * As SQL, whether a change of the row is open; for a table without writable fields, whether one may
 * be open.
 */
function hasOpenChange({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return `${row}._pending IS NOT NULL`;
  return `EXISTS (SELECT FROM sync.changes AS own WHERE ${isChangeOf(name, row)} AND own.is_open)`;
}

/**
 * How long ago our creates made some records, in milliseconds; absent if that is not a short while
 * ago.
 */
export async function readMadeAgoMs(
  db: Queryable,
  records: {
    readonly accountId: string;
    readonly table: string;
    readonly numbers: readonly string[];
  },
): Promise<ReadonlyMap<string, number>> {
  if (records.numbers.length === 0) return new Map();
  const {rows} = await db.query<{number: string; agoMs: number}>(
    `SELECT number, extract(epoch FROM now() - settled_at)::double precision * 1000 AS "agoMs"
       FROM sync.changes
      WHERE account_id = $1 AND table_name = $2 AND number = ANY ($3::bigint[])
        AND operation = 'create' AND state = 'done'
        AND settled_at > now() - ${lagLimit}`,
    [records.accountId, records.table, records.numbers],
  );
  return new Map(rows.map(({number, agoMs}) => [number, agoMs]));
}

const isChangeOf = (table: string, row: string) =>
  `own.row_id = ${row}.row_id AND own.table_name = ${pg.escapeLiteral(table)}`;

const hasRecentChange = (account: string) =>
  `(SELECT EXISTS (SELECT FROM sync.changes AS any_of WHERE any_of.account_id = ${account}
    AND any_of.settled_at > now() - ${lagLimit}))`;

/**
 * A service may answer reads from a copy of its records that lags behind. A reading made within
 * this time after one of our confirmed writes may be older than the write, if it shows the previous
 * value. Later than this, a reading counts as it is.
 */
export const lagLimitMs = 60_000;

/** The same limit as SQL. */
const lagLimit = `interval '${lagLimitMs} milliseconds'`;

/** One table's part in the probe of several. */
interface ProbePart {
  /** Its place among them, from 0. */
  readonly part: number;
  /**
   * The number of the first of its parameters: hashes, moments, and an array for each key column.
   */
  readonly first: number;
  /**
   * Whether the stored values of rows that differ are needed, too. This is expensive, and only for
   * documents that may omit fields.
   */
  readonly isRecalling: boolean;
}

/** The statements that load one table. */
interface TableSql {
  /**
   * Parts are put together by UNION ALL; $1 to $3 are the same in each: account, moment, whether
   * changes write.
   */
  readonly probe: (part: ProbePart) => string;
  /**
   * Runs between a savepoint and its release, in one round trip: if Postgres refuses it, the
   * transaction loses only these rows.
   */
  readonly copyToTable: string;
  /**
   * Creates the stage if it is missing, and empties it first: a transaction may merge into one
   * table twice.
   */
  readonly copyToStage: string;
  readonly merge: string;
  readonly markVanished: (parentColumn: string) => string;
  /**
   * The parents of children that `markVanished` does not mark, because one of our changes made them
   * a short while ago.
   */
  readonly spared: (parentColumn: string) => string;
}

export const sqlTypes: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  integer: 'bigint',
  decimal: 'numeric',
  float: 'double precision',
  boolean: 'boolean',
  instant: 'timestamptz',
  nested: 'jsonb',
};

/** A hash of a row, or of a record's bytes, is the first half of a SHA-256. */
export const hashBytes = 16;

/** The savepoint before rows that are copied straight into their table. */
export const freshRows = 'fresh_rows';

const quote = (name: string) => pg.escapeIdentifier(name);
const cache = new WeakMap<MirrorTable, TableSql>();

/** The table's name, with its schema. */
export function nameTable(table: MirrorTable): string {
  return `warehouse.${quote(table.name)}`;
}

/**
 * The moment at which the next version of a row begins: the start of the transaction, but after the
 * version that it ends. A sweep sets it in its statement, so that no trigger has to: a row in
 * plpgsql costs more than a row in a statement.
 */
function nextVersionAt(row: string): string {
  return `greatest(now(), ${row}._changed_at + interval '1 microsecond')`;
}

/**
 * Whether a change has written a row since a moment; without a moment no row is fresher. A row with
 * a change in progress is read again when that ends, so another change's reading may be written
 * meanwhile.
 * @param isReadBack - whether changes write, not a sweep
 */
function isFresher(row: string, since: string, isReadBack: string): string {
  return `coalesce(${row}._change_id IS NOT NULL AND ${row}._changed_at > ${since}
                     AND NOT (${isReadBack} AND ${row}._pending IS NOT NULL), false)`;
}

/**
 * SQL for the moment of the change whose result a row is, or of no change: $1 has the changes, $2
 * the moments.
 */
const sinceOfChange = `(SELECT since FROM unnest($1::bigint[], $2::timestamptz[]) AS read
  (change_id, since)
                         WHERE read.change_id IS NOT DISTINCT FROM EXCLUDED._change_id)`;

/** The quoted name of the single column that identifies a stream's records. */
export function keyOf(table: MirrorTable): string {
  const [key, ...otherColumns] = table.key;
  if (key === undefined || otherColumns.length > 0)
    throw new TypeError(`table ${table.name}: no stream has a key of many columns`);
  return quote(key);
}

/** SQL for one of the concatenated hashes in a value. @param at - its place, from 1 */
export function hashIn(hashes: string, at: string): string {
  const from = `(${at}::integer - 1) * ${hashBytes} + 1`;
  return `substring(${hashes}::bytea FROM ${from} FOR ${hashBytes})`;
}

/** The place and the SQL type of a column, checked against the definition. */
export function findColumn(
  table: MirrorTable,
  name: string,
): {readonly at: number; readonly sqlType: string} {
  const at = table.columns.findIndex((column) => column.name === name);
  const column = table.columns[at];
  if (column === undefined) throw new TypeError(`table ${table.name} has no column "${name}"`);
  return {at, sqlType: sqlTypes[column.type]};
}

export function tableSql(table: MirrorTable): TableSql {
  const statements = cache.get(table) ?? buildTableSql(table);
  cache.set(table, statements);
  return statements;
}

function buildTableSql(table: MirrorTable): TableSql {
  const target = nameTable(table);
  const columnNames = [
    'account_id',
    '_sweep_id',
    '_change_id',
    ...table.columns.map((column) => quote(column.name)),
    'extra',
    '_hash',
    '_page',
  ];
  const key = table.key.map(quote);
  const stage = quote(nameStage(table));
  return {
    probe: (part) => probeSql(table, part),
    copyToTable: `
      SAVEPOINT ${freshRows};
      COPY ${target} (${columnNames.join(', ')}) FROM STDIN;
      RELEASE SAVEPOINT ${freshRows}`,
    copyToStage: `
      CREATE TEMPORARY TABLE IF NOT EXISTS ${stage} ON COMMIT DELETE ROWS
          AS SELECT ${columnNames.join(', ')} FROM ${target} WITH NO DATA;
      DELETE FROM pg_temp.${stage};
      COPY pg_temp.${stage} (${columnNames.join(', ')}) FROM STDIN`,
    merge: `
      INSERT INTO ${target} AS held (${columnNames.join(', ')})
      SELECT ${columnNames.join(', ')} FROM pg_temp.${stage}
          ON CONFLICT (account_id, ${key.join(', ')}) DO UPDATE
         SET ${columnNames.map((name) => `${name} = EXCLUDED.${name}`).join(', ')},
             _changed_at = ${nextVersionAt('held')}, _deleted_at = NULL
       WHERE NOT ${isFresher('held', sinceOfChange, 'EXCLUDED._change_id IS NOT NULL')}`,
    markVanished: (parentColumn) => vanishSql(table, parentColumn),
    spared: (parentColumn) => sparedSql(table, parentColumn),
  };
}

/**
 * In a shared session, a stage remains after its transaction, and another version of this program
 * may find it: so its name identifies its columns. Two of our tables differ in name or columns, so
 * none uses the stage of another.
 */
function nameStage({name, columns}: MirrorTable): string {
  const columnList = columns.map((column) => `${column.name} ${column.type}`).join(', ');
  return `stage_${name}_${createHash('sha256').update(columnList).digest('hex').slice(0, 8)}`;
}

/**
 * SQL for the stored rows of some keys. It is a probe: it takes no lock and writes no WAL. OFFSET 0
 * makes Postgres use an index look-up for each key. A join is planned by statistics, and during a
 * first load there are none: Postgres then read the whole table for every batch (10,000 rows a
 * second, compared with 100,000).
 */
function probeSql(table: MirrorTable, {part, first, isRecalling}: ProbePart): string {
  const names = table.key.map((_, at) => `key_${at}`);
  const arrays = table.key.map(
    (column, at) => `$${first + 2 + at}::${findColumn(table, column).sqlType}[]`,
  );
  const match = table.key.map((column, at) => `row.${quote(column)} = page.key_${at}`);
  const [values, hash] = isRecalling ? recalledSql(table) : ['NULL::text[]', 'NULL::text'];
  return `
    SELECT ${part} AS part, page.at::integer - 1 AS at, held.row_id AS "rowId",
           held._deleted_at IS NOT NULL AS "isDeleted",
           held._hash IS NOT DISTINCT FROM page.hash AS "isSame",
           held._pending IS NOT NULL AS "isPending",
           held._pending IS NOT NULL AND ${hasOpenChange(table, 'held')} AS "isUnderChange",
           ${isFresher('held', 'page.since', '$3::boolean')} AS "isFresher", held.values, held.hash,
           held._deleted_at IS NOT NULL AND ${isWrittenLately('held')} AS "isDeletedLately",
           CASE WHEN held._hash IS DISTINCT FROM page.hash
             THEN ${recentWritesOf(table, 'held')} END AS recent
      FROM (SELECT *, ${hashIn(`$${first}`, 'at')} AS hash,
        coalesce(read_at, $2::timestamptz) AS since
              FROM unnest($${first + 1}::timestamptz[], ${arrays.join(', ')})
                WITH ORDINALITY AS came (read_at, ${names.join(', ')}, at)) AS page
     CROSS JOIN LATERAL (
           SELECT row.row_id, row._hash, row._deleted_at, row._pending, row._change_id,
                  row._changed_at, ${values} AS values, ${hash} AS hash
             FROM ${nameTable(table)} AS row
            WHERE row.account_id = $1 AND ${match.join(' AND ')} OFFSET 0) AS held`;
}

/**
 * Every value of a row that differs from the page, as text, and its hash; instants as JSON writes
 * them, which is ISO 8601.
 */
function recalledSql({columns}: MirrorTable): [values: string, hash: string] {
  const texts = columns.map(({name, type}) => {
    const column = `row.${quote(name)}`;
    return type === 'instant' ? `to_json(${column})#>>'{}'` : `${column}::text`;
  });
  const isDifferent = 'row._hash IS DISTINCT FROM page.hash';
  return [
    `CASE WHEN ${isDifferent} THEN ARRAY[${texts.join(', ')}, row.extra::text] END`,
    `CASE WHEN ${isDifferent} THEN encode(row._hash, 'hex') END`,
  ];
}

function vanishSql(table: MirrorTable, parentColumn: string): string {
  const type = findColumn(table, parentColumn).sqlType;
  return `
    UPDATE ${nameTable(table)} AS child
       SET _deleted_at = now(), _changed_at = ${nextVersionAt('child')}, _sweep_id = $2,
           _change_id = parent.change_id, _page = NULL
      FROM (SELECT number, change_id, coalesce(read_at, $3::timestamptz) AS since
              FROM unnest($4::${type}[], $6::bigint[], $7::timestamptz[]) AS came (number,
                change_id, read_at)) AS parent
     WHERE child.account_id = $1 AND child._deleted_at IS NULL
       AND NOT ${isFresher('child', 'parent.since', 'parent.change_id IS NOT NULL')}
       AND child.${quote(parentColumn)} = parent.number
         AND child.${quote(parentColumn)} = ANY ($4::${type}[])
       AND ${isUnlisted(table, '$5')} AND NOT ${isMadeLately(table, 'child')}`;
}

function sparedSql(table: MirrorTable, parentColumn: string): string {
  const column = `child.${quote(parentColumn)}`;
  return `
    SELECT DISTINCT ${column}::text AS parent FROM ${nameTable(table)} AS child
     WHERE child.account_id = $1 AND child._deleted_at IS NULL
       AND ${column} = ANY ($2::${findColumn(table, parentColumn).sqlType}[])
       AND ${isUnlisted(table, '$3')} AND ${isMadeLately(table, 'child')}`;
}

/**
 * Whether a child is not among those that its parents list. A row without its whole key was
 * authored here and is not known to the service yet: its absence proves nothing. The key is one
 * text. Postgres looks an array up by hash only if it is compared with one value, and would
 * otherwise compare every child with every key.
 * @param listedKeys - the parameter with the keys that are listed
 */
export function isUnlisted(table: MirrorTable, listedKeys: string): string {
  const key = table.key.map((column) => `child.${quote(column)}`);
  const isWhole = key.map((column) => `${column} IS NOT NULL`).join(' AND ');
  return `${isWhole} AND concat_ws(':', ${key.join(', ')}) <> ALL (${listedKeys}::text[])`;
}
