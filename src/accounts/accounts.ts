// The accounts that are mirrored: their rows, their states, and their removal. Removal finds tables
// by their column `account_id`, so that a table that is added later is not forgotten.

import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {accounts} from './tables.ts';

type AccountRow = typeof accounts.$inferSelect;

const columns = [
  'account_id',
  'name',
  'api_url',
  'time_zone',
  'created_at',
  'state',
  'state_reason',
  'state_since',
  'key_id',
] as const;

/** A row of sync.accounts, without its token. */
export type Account = ReadRow<AccountRow, (typeof columns)[number]>;
export type AccountState = Account['state'];

/** A token as it is stored; `src/core/secret.ts` makes and opens it. */
export interface SealedToken {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/**
 * The part of an address that identifies a service: its scheme and a slash at its end do not count.
 */
export function toServiceAddress(apiUrl: string): string {
  if (!URL.canParse(apiUrl)) return apiUrl;
  const {host, pathname} = new URL(apiUrl);
  return `${host}${pathname.replace(/\/+$/, '')}`;
}

/**
 * @throws {UsageError} the account is at another service: the rows of two services would be mixed
 */
export function refuseMove(account: Pick<Account, 'name' | 'apiUrl'>, apiUrl: string): void {
  const [from, to] = [toServiceAddress(account.apiUrl), toServiceAddress(apiUrl)];
  if (from === to) return;
  throw new UsageError(
    `account ${account.name}: it mirrors ${from}, got ${to}: the rows of two services would ` +
      'be mixed; give the other one a separate name, or, where the same business has moved: ' +
      `fieldmirror accounts move ${account.name} --url ${apiUrl}`,
  );
}

/**
 * Makes the account of that name, or updates its address and zone; an account that already agrees
 * is not written.
 * @param options.mayMove - whether its address may become another service's: only for the demo,
 *   whose port changes
 * @throws {UsageError} the account of that name is at another service: the rows of two services
 *   would be mixed
 */
export async function upsertAccount(
  db: Queryable,
  account: Pick<Account, 'name' | 'apiUrl' | 'timeZone'>,
  options: {readonly mayMove?: boolean} = {},
): Promise<Account> {
  const {name, apiUrl, timeZone} = account;
  // If another process writes the account after we have read it, we read it again and judge it as
  // it is then.
  for (;;) {
    const storedAccount = await readAccount(db, name);
    if (storedAccount?.apiUrl === apiUrl && storedAccount.timeZone === timeZone)
      return storedAccount;
    if (storedAccount !== null && options.mayMove !== true) refuseMove(storedAccount, apiUrl);
    const savedAccount = await writeAccount(db, account, storedAccount);
    if (savedAccount !== null) return savedAccount;
  }
}

/** @returns null if the address is no longer the one that was read; then nothing is written */
async function writeAccount(
  db: Queryable,
  {name, apiUrl, timeZone}: Pick<Account, 'name' | 'apiUrl' | 'timeZone'>,
  storedAccount: Account | null,
): Promise<Account | null> {
  const {rows} = await db.query<Account>(
    `INSERT INTO sync.accounts AS held (name, api_url, time_zone) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET api_url = EXCLUDED.api_url, time_zone = EXCLUDED.time_zone
      WHERE held.api_url = $4
     RETURNING ${selectColumns(columns)}`,
    [name, apiUrl, timeZone, storedAccount?.apiUrl ?? null],
  );
  return rows[0] ?? null;
}

/** The account of that name; null if there is none. */
export async function readAccount(db: Queryable, name: string): Promise<Account | null> {
  const {rows} = await db.query<Account>(
    `SELECT ${selectColumns(columns)} FROM sync.accounts WHERE name = $1`,
    [name],
  );
  return rows[0] ?? null;
}

/** Every account, the oldest first. */
export async function listAccounts(db: Queryable): Promise<Account[]> {
  const {rows} = await db.query<Account>(
    `SELECT ${selectColumns(columns)} FROM sync.accounts ORDER BY account_id`,
  );
  return rows;
}

/** The account of that number and its stored token; null if there is no such account. */
export async function readAccountAccess(
  db: Queryable,
  accountId: string,
): Promise<(Account & {readonly sealed: SealedToken | null}) | null> {
  const {rows} = await db.query<Account & {sealedToken: Buffer | null}>(
    `SELECT ${selectColumns(columns)}, sealed_token AS "sealedToken" FROM sync.accounts
       WHERE account_id = $1`,
    [accountId],
  );
  if (rows[0] === undefined) return null;
  const {sealedToken: bytes, ...account} = rows[0];
  const {keyId} = account;
  return {...account, sealed: bytes === null || keyId === null ? null : {keyId, bytes}};
}

/**
 * The accounts whose tokens are known, in any state: those given by id, and those whose token is
 * sealed with one of the keys.
 */
export async function listKnownAccounts(
  db: Queryable,
  ids: {readonly accountIds: readonly string[]; readonly keyIds: readonly string[]},
): Promise<Account[]> {
  const {rows} = await db.query<Account>(
    `SELECT ${selectColumns(columns)} FROM sync.accounts
      WHERE account_id = ANY ($1) OR key_id = ANY ($2) ORDER BY account_id`,
    [ids.accountIds, ids.keyIds],
  );
  return rows;
}

/**
 * Stores a sealed token for an account, in place of the one it had. The owner of a different token
 * must be learned again.
 * @param instead - if given, writes only if this one is still stored: the same token, sealed again,
 *   must not replace a newer one
 */
export async function saveSealedToken(
  db: Queryable,
  accountId: string,
  {
    keyId,
    bytes,
    instead: replacedToken = null,
  }: SealedToken & {readonly instead?: SealedToken | null},
): Promise<void> {
  await db.query(
    `UPDATE sync.accounts SET sealed_token = $2, key_id = $3,
       employee_id = CASE WHEN $4::bytea IS NULL THEN NULL ELSE employee_id END
      WHERE account_id = $1 AND ($4::bytea IS NULL OR sealed_token = $4)`,
    [accountId, bytes, keyId, replacedToken?.bytes ?? null],
  );
}

/** Pauses an account for a person: no more of its work begins; due work waits. */
export async function pauseAccount(
  db: Queryable,
  accountId: string,
  reason: string | null,
): Promise<void> {
  await setAccountState(db, accountId, {state: 'paused', reason});
}

/**
 * Lets the sweeps of an account run again. A caller that was refused with its token sends requests
 * again. If the account was stopped and the last full sweep of a stream failed, that sweep is
 * requested again. So no stream stays failed until the next night.
 * @returns false if it was active already
 */
export async function resumeAccount(db: Queryable, accountId: string): Promise<boolean> {
  await db.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by)
     SELECT account_id, stream, 'full', 'command'
       FROM (SELECT DISTINCT ON (stream) account_id, stream, sweeps.state
               FROM sync.sweeps JOIN sync.accounts AS account USING (account_id)
              WHERE account_id = $1 AND mode = 'full' AND account.state = 'stopped'
              ORDER BY stream, sweep_id DESC) AS latest
      WHERE latest.state = 'failed'
         ON CONFLICT DO NOTHING`,
    [accountId],
  );
  return await setAccountState(db, accountId, {state: 'active', reason: null});
}

/**
 * Stops an account whose token is refused, and ends each of its due sweeps as `failed`, so that no
 * caller waits for one; both in one statement. The service also refuses a worker that has one of
 * its sweeps in progress.
 * @param reason - the failure, and the next step
 * @returns false if it was stopped already: its first reason stays
 */
export async function stopAccount(
  db: Queryable,
  accountId: string,
  reason: string,
): Promise<boolean> {
  const {rows} = await db.query<{stopped: boolean}>(
    `WITH stopped AS (
       UPDATE sync.accounts SET state = 'stopped', state_reason = $2, state_since = now()
        WHERE account_id = $1 AND state <> 'stopped' RETURNING account_id
     ), ended AS (
       UPDATE sync.sweeps SET state = 'failed', error = $2, ended_at = now()
        WHERE account_id = $1 AND state = 'due'
     )
     SELECT EXISTS (SELECT FROM stopped) AS stopped`,
    [accountId, reason],
  );
  return rows[0]?.stopped === true;
}

async function setAccountState(
  db: Queryable,
  accountId: string,
  newState: {readonly state: AccountState; readonly reason: string | null},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.accounts SET state = $2, state_reason = $3, state_since = now()
      WHERE account_id = $1 AND (state, state_reason) IS DISTINCT FROM ($2, $3)`,
    [accountId, newState.state, newState.reason],
  );
  return rowCount === 1;
}

/** Stores which employee's token is in use, learned from a record that was created with it. */
export async function saveEmployee(
  db: Queryable,
  accountId: string,
  employeeId: string,
): Promise<void> {
  await db.query(
    `UPDATE sync.accounts SET employee_id = $2 WHERE account_id = $1
       AND employee_id IS DISTINCT FROM $2`,
    [accountId, employeeId],
  );
}

/**
 * Renames an account, in a transaction of the caller. Settings files refer to it by its name.
 * @throws the error of the database if another account has the name by now
 */
export async function renameAccount(
  db: Queryable,
  {accountId}: Pick<Account, 'accountId'>,
  newName: string,
): Promise<void> {
  await db.query('UPDATE sync.accounts SET name = $2 WHERE account_id = $1', [accountId, newName]);
}

/**
 * The commands that let a paused or stopped account continue, each with its effect; none for an
 * active account.
 */
export function listRecoveryCommands({
  name,
  state,
  keyId,
}: Pick<Account, 'name' | 'state' | 'keyId'>): readonly (readonly [string, string])[] {
  if (state === 'active') return [];
  if (state === 'paused') return [[`accounts resume ${name}`, 'lets it continue']];
  const check = [
    `accounts check ${name}`,
    'lets it continue, once its token is taken again',
  ] as const;
  // Every worker picks up a sealed token; only the process itself knows a token of its environment.
  return keyId === null
    ? [['start', 'lets it continue, with the right FIELDMIRROR_API_TOKEN'], check]
    : [[`accounts add ${name}`, 'gives it a new token, and lets it continue'], check];
}

/** `account acme is stopped: why; fieldmirror accounts check acme lets it continue …` */
export function describeIdle(account: Account): string {
  const {name, state, stateReason} = account;
  const reason = stateReason === null ? '' : `: ${stateReason}`;
  const commands = listRecoveryCommands(account).map(
    ([command, effect]) => `; fieldmirror ${command} ${effect}`,
  );
  return `account ${name} is ${state}${reason}${commands.join('')}`;
}

/** A table and how many of its rows are the account's. */
export interface Holding {
  readonly table: string;
  readonly rows: string;
}

/** Audit entries record who did what, so they stay. */
const keptTables = ['sync.audit'];
/**
 * Rows of these tables refer to rows of others, or their removal writes into others, so they are
 * removed first.
 */
const tablesEmptiedFirst = ['sync.changes', 'sync.sessions', 'sync.quarantine'];

/** Each table that holds rows of an account, with their number. */
export async function countHoldings(db: Queryable, accountId: string): Promise<Holding[]> {
  const holdings: Holding[] = [];
  for (const table of await listTables(db)) {
    const {rows} = await db.query<Holding>(
      `SELECT '${table}' AS table, count(*) AS rows FROM ${table} WHERE account_id = $1`,
      [accountId],
    );
    holdings.push(...rows.filter((holding) => holding.rows !== '0'));
  }
  return holdings;
}

/**
 * Checks whether work of the account is in progress. Its row is locked, so that no work begins
 * until the transaction ends.
 * @returns the reason why it cannot be removed now, or null
 */
export async function findRunningWork(db: Queryable, accountId: string): Promise<string | null> {
  await db.query('SELECT FROM sync.accounts WHERE account_id = $1 FOR UPDATE', [accountId]);
  const {rows} = await db.query<{state: string; sweeps: string[]; changes: string[]}>(
    `SELECT state,
            ARRAY(SELECT sweep_id::text FROM sync.sweeps AS sweep
                   WHERE sweep.account_id = account.account_id AND sweep.state = 'running'
                     AND lease_until > now()) AS sweeps,
            ARRAY(SELECT change_id::text FROM sync.changes AS change
                   WHERE change.account_id = account.account_id AND lease_until > now()) AS changes
       FROM sync.accounts AS account WHERE account_id = $1`,
    [accountId],
  );
  const [account] = rows;
  if (account === undefined) return 'it is already removed';
  if (account.state === 'active') return 'it is active';
  const {sweeps, changes} = account;
  if (sweeps.length > 0) return `sweep ${sweeps.join(', ')} is in progress, for 15 seconds at most`;
  if (changes.length > 0)
    return `change ${changes.join(', ')} is in progress, for 30 seconds at most`;
  return null;
}

/**
 * Removes an account and all of its rows, in a transaction of the caller. Nothing is sent to the
 * service.
 */
export async function removeAccount(
  db: Queryable,
  {accountId}: {readonly accountId: string},
): Promise<void> {
  await db.query(`SELECT set_config('fieldmirror.writer', 'sweep', true)`);
  const tables = await listTables(db);
  for (const table of tables.filter((name) => name.startsWith('history.past_')))
    await db.query(
      `DELETE FROM history.edits WHERE table_name = $2
          AND row_id IN (SELECT row_id FROM ${table} WHERE account_id = $1 UNION ALL SELECT row_id
            FROM ${toCurrentTable(table)} WHERE account_id = $1)`,
      [accountId, table.replace('history.past_', '')],
    );
  for (const table of tables)
    await db.query(`DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
  await db.query('DELETE FROM sync.accounts WHERE account_id = $1', [accountId]);
}

/**
 * Tables in the order in which they are emptied. Rows are removed before their versions, because
 * the removal of a row adds a version; the account comes last.
 */
async function listTables(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{table: string}>(
    `SELECT format('%I.%I', nspname, relname) AS table
       FROM pg_attribute JOIN pg_class AS class ON class.oid = attrelid
         JOIN pg_namespace AS place ON place.oid = relnamespace
      WHERE attname = 'account_id' AND NOT attisdropped AND relkind = 'r'
        AND nspname IN ('warehouse', 'history', 'mart', 'sync') AND relname <> 'accounts'
      ORDER BY array_position(ARRAY['warehouse', 'history', 'mart', 'sync']::name[], nspname),
        relname`,
  );
  const tables = rows.map(({table}) => table).filter((table) => !keptTables.includes(table));
  return [...tablesEmptiedFirst, ...tables.filter((table) => !tablesEmptiedFirst.includes(table))];
}

function toCurrentTable(pastTable: string): string {
  return pastTable.replace('history.past_', 'warehouse.');
}
