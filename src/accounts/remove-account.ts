// What an account leaves in the warehouse, counted and removed. Tables are found by their column
// `account_id`, so that one that is added later is not forgotten.

import type {Queryable} from '../postgres/database.ts';

/** A table and how many of its rows are the account's. */
export interface Holding {
  readonly table: string;
  readonly rows: string;
}

/** Entries of the audit say who did what: they stay. */
const kept = ['sync.audit'];
/** Rows of these point at rows of others, or their removal writes into others: they go first. */
const first = ['sync.changes', 'sync.sessions', 'sync.quarantine'];

/** Each table that holds rows of an account, with their number. */
export async function countHoldings(db: Queryable, accountId: string): Promise<Holding[]> {
  const holdings: Holding[] = [];
  for (const table of await listTables(db)) {
    const {rows} = await db.query<Holding>(
      `SELECT '${table}' AS table, count(*) AS rows FROM ${table} WHERE account_id = $1`,
      [accountId],
    );
    holdings.push(...rows.filter((each) => each.rows !== '0'));
  }
  return holdings;
}

/**
 * Whether work of the account is under way; its row is locked, so that nothing is begun until the
 * transaction ends.
 * @returns the reason why it cannot be removed now, or null
 */
export async function findWorkUnderWay(db: Queryable, accountId: string): Promise<string | null> {
  await db.query('SELECT FROM sync.accounts WHERE account_id = $1 FOR UPDATE', [accountId]);
  const {rows} = await db.query<{state: string; sweeps: string[]; changes: string[]}>(
    `SELECT state,
            ARRAY(SELECT sweep_id::text FROM sync.sweeps AS sweep
                   WHERE sweep.account_id = account.account_id AND sweep.state = 'running' AND lease_until > now()) AS sweeps,
            ARRAY(SELECT change_id::text FROM sync.changes AS change
                   WHERE change.account_id = account.account_id AND lease_until > now()) AS changes
       FROM sync.accounts AS account WHERE account_id = $1`,
    [accountId],
  );
  const [found] = rows;
  if (found === undefined) return 'it is gone already';
  if (found.state === 'active') return 'it is active';
  const {sweeps, changes} = found;
  if (sweeps.length > 0) return `sweep ${sweeps.join(', ')} is under way, for 15 seconds at most`;
  if (changes.length > 0)
    return `change ${changes.join(', ')} is under way, for 30 seconds at most`;
  return null;
}

/**
 * Removes an account and all that it holds, in a transaction of the caller. Nothing of it goes to
 * the service.
 */
export async function removeAccount(
  db: Queryable,
  {accountId, name}: {readonly accountId: string; readonly name: string},
): Promise<void> {
  await db.query(`SELECT set_config('fieldmirror.writer', 'sweep', true)`);
  const tables = await listTables(db);
  for (const table of tables.filter((each) => each.startsWith('history.past_')))
    await db.query(
      `DELETE FROM history.edits WHERE table_name = $2
          AND row_id IN (SELECT row_id FROM ${table} WHERE account_id = $1 UNION ALL SELECT row_id FROM ${currentOf(table)} WHERE account_id = $1)`,
      [accountId, table.replace('history.past_', '')],
    );
  for (const table of tables)
    await db.query(`DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
  await db.query(`DELETE FROM sync.file_settings WHERE section <> 'write_rules' AND path[1] = $1`, [
    name,
  ]);
  await db.query('DELETE FROM sync.accounts WHERE account_id = $1', [accountId]);
}

/**
 * Tables in the order in which they are emptied: rows before their versions, which the removal of a
 * row adds to; the account comes last.
 */
async function listTables(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{table: string}>(
    `SELECT format('%I.%I', nspname, relname) AS table
       FROM pg_attribute JOIN pg_class AS class ON class.oid = attrelid JOIN pg_namespace AS place ON place.oid = relnamespace
      WHERE attname = 'account_id' AND NOT attisdropped AND relkind = 'r'
        AND nspname IN ('warehouse', 'history', 'mart', 'sync') AND relname <> 'accounts'
      ORDER BY array_position(ARRAY['warehouse', 'history', 'mart', 'sync']::name[], nspname), relname`,
  );
  const found = rows.map(({table}) => table).filter((table) => !kept.includes(table));
  return [...first, ...found.filter((table) => !first.includes(table))];
}

function currentOf(past: string): string {
  return past.replace('history.past_', 'warehouse.');
}
