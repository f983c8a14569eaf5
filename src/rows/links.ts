// The keys by which outside systems identify rows: the column external_key for the system default,
// sync.links for the others. Functions of migrations/functions/links write them.
// This file also handles many links at once: it reads rows without a key, writes keys in one
// transaction, and removes them together. The batch is an entry of sync.audit, which contains the
// rows. The keys stay where forgetting a customer finds them.

import pg from 'pg';
import {writeAudit} from '../accounts/access.ts';
import {UsageError} from '../core/errors.ts';
import {defaultSystem} from '../core/names.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {readByCursor} from '../postgres/sql.ts';
import {readNumbers, writeNumbers} from './number-set.ts';

/** A row, and an outside system that has or gets a key for it. */
interface LinkPlace {
  readonly table: string;
  readonly rowId: string;
  readonly system: string;
}

/**
 * Sets the key of a row; null removes it.
 * @returns whether the row had another key, or none, before
 * @throws {pg.DatabaseError} 23505: another row has the key; 22023: the key is invalid; 23000: the
 *   customer of the row was forgotten
 */
export async function setLink(
  db: Queryable,
  {table, rowId, system}: LinkPlace,
  key: string | null,
): Promise<boolean> {
  const {rows} = await db.query<{isNew: boolean}>(
    key === null
      ? 'SELECT sync.remove_link($1, $2, $3) AS "isNew"'
      : 'SELECT sync.set_link($1, $2, $4, $3) AS "isNew"',
    [table, rowId, system, ...(key === null ? [] : [key])],
  );
  return rows[0]?.isNew === true;
}

/**
 * SQL for the keys that a system has for the rows of a table, or of the table that a column names.
 */
interface SystemKeys {
  /** The system's key of the row `held`; null if it has none. */
  readonly key: string;
  /**
   * Whether the row `held` is the one that the system identifies by a key.
   * @param account, key - as SQL
   */
  isKnownBy(account: string, key: string): string;
}

/**
 * The keys of a system, as SQL about a row `held`.
 * @param table - SQL of the name of its table: a literal, or a column
 */
export function buildSystemKeys(system: string, table: string): SystemKeys {
  if (system === defaultSystem)
    return {key: 'held.external_key', isKnownBy: (_, key) => `held.external_key = ${key}`};
  const from = `FROM sync.links AS link WHERE link.table_name = ${table}
    AND link.system = ${pg.escapeLiteral(system)} AND link.until IS NULL`;
  return {
    key: `(SELECT link.key ${from} AND link.row_id = held.row_id)`,
    // The row is looked up once, by the index of keys.
    isKnownBy: (account, key) =>
      `held.row_id = (SELECT link.row_id ${from} AND link.account_id = ${account}
         AND link.key = ${key})`,
  };
}

/** A row that has a key. */
interface Link {
  /** Number of its record; null until the service has given one. */
  readonly number: string | null;
  readonly rowId: string;
  readonly key: string;
  /** When the key was set, and by whom; null for the system default, whose keys are a column. */
  readonly since: string | null;
  readonly linkedBy: string | null;
}

/** Selects the rows whose keys are read. */
interface LinkQuery {
  readonly accountId: string;
  readonly table: string;
  /** The column with the number of a record. */
  readonly numberColumn: string;
  readonly system: string;
  /** Null: every key. */
  readonly key: string | null;
  readonly limit: number;
}

/** The keys that a system has for the rows of a table, in order of row_id. */
export async function listLinks(db: Queryable, query: LinkQuery): Promise<Link[]> {
  const {accountId, table, numberColumn, system, key, limit} = query;
  const number = `held.${pg.escapeIdentifier(numberColumn)} AS number, held.row_id AS "rowId"`;
  const from = `FROM warehouse.${pg.escapeIdentifier(table)} AS held`;
  const values = [accountId, key, limit];
  const {rows} =
    system === defaultSystem
      ? await db.query<Link>(
          `SELECT ${number}, external_key AS key, NULL AS since, NULL AS "linkedBy" ${from}
            WHERE account_id = $1 AND external_key = coalesce($2, external_key)
            ORDER BY row_id LIMIT $3`,
          values,
        )
      : await db.query<Link>(
          `SELECT ${number}, link.key, link.since, link.linked_by AS "linkedBy" ${from}
             JOIN sync.links AS link USING (account_id, row_id)
            WHERE account_id = $1 AND link.key = coalesce($2, link.key)
              AND link.table_name = $4 AND link.system = $5 AND link.until IS NULL
            ORDER BY row_id LIMIT $3`,
          [...values, table, system],
        );
  return rows;
}

/** The rows of an account in a table, and an outside system with keys for them. */
export interface LinkScope {
  readonly accountId: string;
  readonly table: string;
  readonly system: string;
}

/** A row, and the key by which the system identifies it; null if it has none. */
export interface LinkedRow {
  readonly rowId: string;
  readonly key: string | null;
  readonly values: Readonly<Record<string, string | null>>;
}

/** How many links one statement writes: each costs a separate statement inside a function. */
const linksAtOnce = 1_000;
/** The maximum of links in a batch: the text of their numbers is read back whole. */
const mostLinks = 1_000_000;

/** Reads rows by row_id, in that order, without those whose record is deleted. */
export async function readLinkedRows(
  pool: pg.Pool,
  {accountId, table, system}: LinkScope,
  columns: readonly string[],
): Promise<Map<string, LinkedRow>> {
  const names = columns.map((column) => `held.${pg.escapeIdentifier(column)}`);
  const {key} = buildSystemKeys(system, pg.escapeLiteral(table));
  const query = `SELECT ${names.join(', ')}, held.row_id AS "_rowId", ${key} AS "_key"
     FROM warehouse.${pg.escapeIdentifier(table)} AS held
    WHERE held.account_id = $1 AND held._deleted_at IS NULL ORDER BY held.row_id`;
  return await inTransaction(pool, async (client) => {
    const rowsById = new Map<string, LinkedRow>();
    for await (const rows of readByCursor<Record<string, string | null>>(client, query, [
      accountId,
    ]))
      for (const {_rowId, _key: currentKey = null, ...values} of rows) {
        const rowId = _rowId ?? '';
        rowsById.set(rowId, {rowId, key: currentKey, values});
      }
    return rowsById;
  });
}

/** The keys by which the system identifies rows, including rows of deleted records. */
export async function listKeys(
  db: Queryable,
  {accountId, table, system}: LinkScope,
): Promise<Set<string>> {
  const {key} = buildSystemKeys(system, pg.escapeLiteral(table));
  const {rows} = await db.query<{key: string | null}>(
    `SELECT ${key} AS key FROM warehouse.${pg.escapeIdentifier(table)} AS held
      WHERE held.account_id = $1`,
    [accountId],
  );
  return new Set(rows.flatMap((row) => row.key ?? []));
}

/** A row, and the key that it will get. */
export interface NewLink {
  readonly rowId: string;
  readonly key: string;
}

interface WrittenLinks {
  /** The number by which the batch can be undone; null if nothing was written. */
  readonly batch: string | null;
  readonly rowIds: readonly string[];
}

/** Sets keys as `linkRows` does, and notes the batch in the audit as that of a command. */
export async function writeLinks(
  client: pg.ClientBase,
  scope: LinkScope,
  links: readonly NewLink[],
): Promise<WrittenLinks> {
  const rowIds = await linkRows(client, scope, links);
  if (rowIds.length === 0) return {batch: null, rowIds};
  const after = describeBatch(scope, rowIds);
  return {batch: await noteBatch(client, scope, {action: 'links.match', after}), rowIds};
}

/**
 * The content of a batch's entry in the audit: no key, so that forgetting a customer finds all
 * keys.
 */
export function describeBatch({table, system}: LinkScope, rowIds: readonly string[]) {
  return {table, system, rows: writeNumbers(rowIds)};
}

/**
 * Sets keys in the caller's transaction. A link is left out if its row already has a key or is not
 * of the account, or if another row has its key. To be undone later, the links need an entry
 * `links.match` of the audit in the same transaction.
 * @param links - each row and each key once
 * @returns the rows that got a key
 */
export async function linkRows(
  client: pg.ClientBase,
  scope: LinkScope,
  links: readonly NewLink[],
): Promise<string[]> {
  const {accountId, table, system} = scope;
  const {key} = buildSystemKeys(system, pg.escapeLiteral(table));
  const written = await runInOrder(client, scope, links, async (chunk) => {
    const {rows} = await client.query<{rowId: string}>(
      // Postgres reads row by row: in the other order, it would read all rows of the account for
      // each link.
      `WITH free AS MATERIALIZED (
         SELECT given.row_id, given.key
           FROM unnest($1::bigint[], $2::text[]) AS given (row_id, key),
                LATERAL (SELECT ${key} AS key FROM warehouse.${pg.escapeIdentifier(table)} AS held
                  WHERE held.row_id = given.row_id AND held.account_id = $3 LIMIT 1) AS held
          WHERE held.key IS NULL AND sync.find_link($4, given.key, $3, $5) IS NULL)
       SELECT row_id AS "rowId", sync.set_link($4, row_id, key, $5) FROM free`,
      [chunk.map((link) => link.rowId), chunk.map((link) => link.key), accountId, table, system],
    );
    return rows;
  });
  return written.map(({rowId}) => rowId);
}

/**
 * Handles rows in order of row_id and locks each before its key is read, so that two calls do not
 * conflict.
 */
async function runInOrder<Row extends {readonly rowId: string}, Result>(
  client: pg.ClientBase,
  {accountId, table}: LinkScope,
  rows: readonly Row[],
  handleChunk: (chunk: readonly Row[]) => Promise<Result[]>,
): Promise<Result[]> {
  const sorted = rows.toSorted((one, other) => Number(BigInt(one.rowId) - BigInt(other.rowId)));
  const results: Result[] = [];
  // For an empty table, Postgres would plan to read every row, even once there are thousands.
  await client.query(`SELECT set_config('enable_seqscan', 'off', true)`);
  for (let start = 0; start < sorted.length; start += linksAtOnce) {
    const chunk = sorted.slice(start, start + linksAtOnce);
    await client.query(
      `SELECT FROM warehouse.${pg.escapeIdentifier(table)}
        WHERE row_id = ANY ($1) AND account_id = $2 ORDER BY row_id FOR NO KEY UPDATE`,
      [chunk.map(({rowId}) => rowId), accountId],
    );
    results.push(...(await handleChunk(chunk)));
  }
  return results;
}

async function noteBatch(
  client: pg.ClientBase,
  {accountId, table, system}: LinkScope,
  {action, after}: {readonly action: string; readonly after: unknown},
): Promise<string> {
  const {rows} = await client.query<{role: string}>('SELECT session_user AS role');
  return await writeAudit(client, {
    sessionId: null,
    name: `command:${rows[0]?.role}`,
    role: 'admin',
    address: '',
    action,
    accountId,
    subject: `${table} in system ${system}`,
    before: null,
    after,
  });
}

interface UndoneLinks {
  readonly system: string;
  readonly removed: number;
  /** Rows whose key was set or removed since. */
  readonly left: number;
}

/**
 * Removes the keys of a batch as `unlinkRows` does, and notes that in the audit as done by a
 * command.
 */
export async function undoLinks(
  client: pg.ClientBase,
  tableScope: Omit<LinkScope, 'system'>,
  batch: string,
): Promise<UndoneLinks> {
  const {rowIds, ...undone} = await unlinkRows(client, tableScope, batch);
  const scope = {...tableScope, system: undone.system};
  const after = {batch, ...describeBatch(scope, rowIds)};
  if (rowIds.length > 0) await noteBatch(client, scope, {action: 'links.undo', after});
  return undone;
}

/**
 * Removes the keys of a batch, in the caller's transaction, except those that were set or removed
 * since.
 * @param batch - its number: that of its entry in the audit
 * @throws {UsageError} no such batch of that table and account; for the system default: the
 *   versions that distinguish an older key from a newer one are no longer stored
 */
export async function unlinkRows(
  client: pg.ClientBase,
  {accountId, table}: Omit<LinkScope, 'system'>,
  batch: string,
): Promise<UndoneLinks & {readonly rowIds: readonly string[]}> {
  const {system, rowIds, isPruned} = await readBatch(client, {accountId, table}, batch);
  const scope = {accountId, table, system};
  if (system === defaultSystem && isPruned)
    throw new UsageError(
      `match: batch ${batch} is older than the versions that are kept, so that nothing shows ` +
        'which keys were set since; nothing was removed; fieldmirror links remove removes a key',
    );
  const linkedRows = rowIds.map((rowId) => ({rowId}));
  const removed = await runInOrder(client, scope, linkedRows, async (chunk) => {
    const {rows} = await client.query<{rowId: string}>(
      `WITH own AS MATERIALIZED (${ownRowsSql(table, system)})
       SELECT row_id AS "rowId", sync.remove_link($4, row_id, $5) FROM own`,
      [chunk.map(({rowId}) => rowId), accountId, batch, table, system],
    );
    return rows;
  });
  return {
    system,
    removed: removed.length,
    left: rowIds.length - removed.length,
    rowIds: removed.map(({rowId}) => rowId),
  };
}

/** Links that were written together, by a command or in the console. */
export interface LinkBatch {
  /** The number by which it can be undone. */
  readonly batch: string;
  /** ISO 8601 */
  readonly at: string;
  /** Who wrote it. */
  readonly by: string;
  readonly accountId: string;
  readonly table: string;
  readonly system: string;
  readonly count: number;
  readonly isUndone: boolean;
}

/** The latest batches of some accounts, the newest first. */
export async function listLinkBatches(
  db: Queryable,
  {accountIds, limit}: {readonly accountIds: readonly string[]; readonly limit: number},
): Promise<LinkBatch[]> {
  const {rows} = await db.query<Omit<LinkBatch, 'count'> & {rows: string}>(
    `SELECT audit_id AS batch, at, name AS by, account_id AS "accountId",
            after->>'table' AS table, after->>'system' AS system, after->>'rows' AS rows,
            EXISTS (SELECT FROM sync.audit AS undo
              WHERE undo.action = 'links.undo' AND undo.audit_id > made.audit_id
                AND undo.after->>'batch' = made.audit_id::text) AS "isUndone"
       FROM sync.audit AS made WHERE action = 'links.match' AND account_id = ANY ($1)
      ORDER BY audit_id DESC LIMIT $2`,
    [accountIds, limit],
  );
  return rows.map(({rows: numbers, ...batch}) => ({
    ...batch,
    count: readNumbers(numbers, mostLinks)?.length ?? 0,
  }));
}

/** SQL for the rows of $1 that still have the key of the batch $3. */
function ownRowsSql(table: string, system: string): string {
  const batchAtSql = '(SELECT at FROM sync.audit WHERE audit_id = $3)';
  if (system !== defaultSystem)
    return `SELECT link.row_id FROM sync.links AS link
       WHERE link.row_id = ANY ($1) AND link.account_id = $2 AND link.table_name = $4
         AND link.system = $5 AND link.until IS NULL AND link.since = ${batchAtSql}`;
  return `SELECT held.row_id FROM warehouse.${pg.escapeIdentifier(table)} AS held
     WHERE held.row_id = ANY ($1) AND held.account_id = $2 AND held.external_key IS NOT NULL
       AND NOT EXISTS (SELECT FROM history.${pg.escapeIdentifier(`past_${table}`)} AS past
         WHERE past.row_id = held.row_id AND past.valid_to > ${batchAtSql}
           AND past.external_key IS DISTINCT FROM held.external_key)`;
}

async function readBatch(
  client: pg.ClientBase,
  {accountId, table}: Omit<LinkScope, 'system'>,
  batch: string,
): Promise<{
  readonly system: string;
  readonly rowIds: readonly string[];
  readonly isPruned: boolean;
}> {
  const {rows} = await client.query<{system: string; rows: string; isPruned: boolean}>(
    `SELECT after->>'system' AS system, after->>'rows' AS rows, at < coalesce((SELECT pruned_to
       FROM sync.retention WHERE kind = 'versions'), at) AS "isPruned"
       FROM sync.audit WHERE audit_id = $1 AND account_id = $2 AND action = 'links.match'
        AND after->>'table' = $3`,
    [batch, accountId, table],
  );
  const [entry] = rows;
  const rowIds = entry === undefined ? null : readNumbers(entry.rows, mostLinks);
  if (entry === undefined || rowIds === null)
    throw new UsageError(`match: the account has no batch ${batch} of links of ${table}`);
  return {...entry, rowIds};
}
