// The verb `rehearse`: runs the reference service with the masked records of one account, to try a
// connector on it. Each value that may reveal who somebody is, or how to reach them, is replaced
// before it leaves this file. At the end the verb prints the changes that the connector has made to
// the records.

import {createHmac, randomBytes} from 'node:crypto';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {createLogger} from '../core/log.ts';
import {printErr, printStep} from '../core/text.ts';
import {readByCursor} from '../postgres/sql.ts';
import type {Effect} from '../service/business.ts';
import type {ServiceRow} from '../service/database.ts';
import {newToken} from '../service/foundation.ts';
import {
  contacts,
  customerResource,
  employeeResource,
  jobCharges,
  jobResource,
  jobStatuses,
  jobTypes,
  notes,
  type ServiceResource,
  taskResource,
  taxEntityResource,
  timeEntries,
} from '../service/resource.ts';
import type {RunningService} from '../service/server.ts';
import {beginReading} from '../star/answer.ts';
import {allTables} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {formatToday, readFaultOption, serveUntilStopped} from './service.ts';
import {callOf, fitTable, print} from './terminal.ts';
import {requireMigrated, withWarehouse} from './warehouse.ts';

/** A table of the warehouse whose rows are records of a resource. */
interface Source {
  readonly table: string;
  readonly to: ServiceResource;
  /**
   * The parent table, and the column with the parent's id; a row without its parent is left out.
   */
  readonly parent?: readonly [table: string, column: string];
  /** The kind of the parent, if a resource has records of several kinds. */
  readonly kind?: string;
  /** SQL for fields whose value is not that of their column. */
  readonly instead?: Readonly<Record<string, string>>;
}

const jobParent = {parent: ['jobs', 'job_id']} as const;
const customerParent = {parent: ['customers', 'customer_id']} as const;

/** The service knows three states of a job. */
const statusSql = `CASE WHEN status IN ('scheduled', 'in_progress', 'complete') THEN status
                     ELSE 'scheduled' END`;

const loginSql = {
  active: 'coalesce(active, true)::text',
  can_login: 'coalesce(can_login, false)::text',
};

const sources: readonly Source[] = [
  {table: 'job_types', to: jobTypes},
  {table: 'job_statuses', to: jobStatuses},
  {table: 'tax_entities', to: taxEntityResource},
  {table: 'employees', to: employeeResource, instead: loginSql},
  {table: 'customers', to: customerResource},
  {table: 'contacts', to: contacts, ...customerParent},
  {table: 'customer_notes', to: notes, ...customerParent, kind: 'Customer'},
  {table: 'jobs', to: jobResource, ...customerParent, instead: {status: statusSql}},
  {table: 'job_charges', to: jobCharges, ...jobParent},
  {table: 'time_entries', to: timeEntries, ...jobParent},
  {table: 'job_notes', to: notes, ...jobParent, kind: 'Job'},
  {table: 'tasks', to: taskResource, instead: {completed: 'coalesce(completed, false)::text'}},
];

/** The number of rows read at once. */
const rowsAtOnce = 1000;

/**
 * Reads the live rows of an account that have an id of the service, and masks them. The client is
 * in a transaction that sees one state of the warehouse.
 * @param key - secret; equal values get equal masks under one key
 */
async function* readRehearsalRows(
  client: pg.ClientBase,
  accountId: string,
  key: Buffer,
): AsyncGenerator<readonly ServiceRow[]> {
  for (const source of sources) {
    const columns = listColumns(source);
    const masked = columns.filter(({isPersonal}) => isPersonal).map(({name}) => name);
    const query = formatQuery(source, columns);
    for await (const rows of readByCursor<RawRow>(client, query, [accountId], rowsAtOnce))
      yield rows.map((row) => toServiceRow(source, row, {key, masked}));
  }
}

/** The number of live rows of the account in all tables of a rehearsal. */
async function countRehearsalRows(client: pg.ClientBase, accountId: string): Promise<number> {
  const counts = sources.map(
    ({table}) => `(SELECT count(*) FROM warehouse.${table}
                    WHERE account_id = $1 AND _deleted_at IS NULL)`,
  );
  const {rows} = await client.query<{rows: string}>(`SELECT ${counts.join(' + ')} AS rows`, [
    accountId,
  ]);
  return Number(rows[0]?.rows ?? 0);
}

type RawRow = Readonly<Record<string, string | null>>;

interface SelectedColumn {
  readonly name: string;
  readonly sql: string;
  readonly isPersonal: boolean;
}

/** The columns that are fields of the resource, as text. */
function listColumns({table, to, instead = {}}: Source): SelectedColumn[] {
  const {columns = [], personal = []} = allTables.find(({name}) => name === table) ?? {};
  const fieldNames = new Set(to.fields.map(({name}) => name));
  return columns
    .filter(({name, type}) => fieldNames.has(name) && type !== 'nested' && type !== 'float')
    .map(({name, type}) => {
      const columnSql =
        type === 'instant'
          ? `to_char("${name}" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
          : `"${name}"::text`;
      return {name, sql: instead[name] ?? columnSql, isPersonal: personal.includes(name)};
    });
}

function formatQuery(
  {table, to, parent, kind}: Source,
  columns: readonly SelectedColumn[],
): string {
  const selectList = columns.map(({name, sql}) => `${sql} AS "${name}"`);
  if (to === jobResource)
    selectList.push(`(SELECT coalesce(array_agg(employee_id ORDER BY employee_id), '{}')
                  FROM warehouse.job_employees AS link
                 WHERE link.account_id = held.account_id AND link.job_number = held.job_number
                   AND employee_id IS NOT NULL AND _deleted_at IS NULL)::text AS beside`);
  if (kind !== undefined) selectList.push(`${parent?.[1]}::text AS beside`);
  const parentCondition =
    parent === undefined
      ? ''
      : `AND EXISTS (SELECT FROM warehouse.${parent[0]} AS owner
                      WHERE owner.account_id = held.account_id AND owner.id = held.${parent[1]}
                        AND owner._deleted_at IS NULL)`;
  return `SELECT ${selectList.join(', ')} FROM warehouse.${table} AS held
           WHERE account_id = $1 AND _deleted_at IS NULL AND id IS NOT NULL
             AND ${to.key} IS NOT NULL ${parentCondition}`;
}

function toServiceRow(
  {to, kind}: Source,
  {beside = null, ...row}: RawRow,
  {key, masked}: {readonly key: Buffer; readonly masked: readonly string[]},
): ServiceRow {
  const masks = masked.map((name) => [name, maskValue(name, row[name] ?? null, key)] as const);
  const owner = kind === undefined ? {} : {noteable_type: kind, noteable_id: beside};
  const fields = {...row, ...Object.fromEntries(masks), ...owner};
  if (to === jobResource) return {table: 'jobs', fields, beside: {employee_ids: beside ?? '{}'}};
  if (to === employeeResource) {
    // An employee who may log in has a password; here it is one that no person knows.
    const hash = `${randomBytes(16).toString('hex')}:${randomBytes(32).toString('hex')}`;
    const password = row.can_login === 'true' ? hash : '\\N';
    return {table: 'employees', fields, beside: {token: newToken(), password_hash: password}};
  }
  return {table: to.table, fields};
}

/**
 * Replaces a personal value. The value of a phone or e-mail field stays a phone number or an
 * address, in ranges that belong to no one. An empty value stays empty.
 */
export function maskValue(field: string, value: string | null, key: Buffer): string | null {
  if (value === null || value.trim() === '') return value;
  const digest = createHmac('sha256', key).update(value).digest();
  const word = digest.toString('hex').slice(0, 12);
  if (/(^|_)(phone|mobile|fax|pager)(_number)?$/.test(field)) {
    const digits = String(digest.readUInt32BE() % 10_000_000).padStart(7, '0');
    return `555-${digits.slice(0, 3)}-${digits.slice(3)}`;
  }
  if (/(^|_)email(_address)?$/.test(field)) return `${word}@example.com`;
  return `${field.replaceAll('_', ' ')} ${word}`;
}

interface RehearseOptions {
  readonly account?: string;
  readonly port: number;
  /** The faults to cause on purpose, in the form that `readFaults` accepts. */
  readonly faults?: string | true;
  /** The address of a separate Postgres; the embedded one if not given. */
  readonly database?: string;
  /** Prints what the last rehearsal has received so far, and starts none. */
  readonly report?: boolean;
  readonly json: boolean;
}

/**
 * Fills a reference service from an account of the warehouse, runs it until it is stopped, and
 * prints the changes made to its records. With JSON, these are printed only for `report`.
 * @throws {UsageError} no such account or fault, or the database holds something else, or another
 *   rehearsal runs in it
 * @throws {FatalError} the warehouse is not of this version, or the port is taken
 */
export async function rehearse(
  config: Config,
  options: RehearseOptions,
  signal: AbortSignal,
): Promise<number> {
  const {json} = options;
  const faults = await readFaultOption(options.faults);
  // The embedded Postgres has room for the rehearsal's database, wherever the warehouse is.
  const opening = {migrates: false, makes: config.databaseUrl !== null, signal};
  return await withWarehouse(config, opening, async ({pool, place}, {embedded}) => {
    const databaseUrl = options.database ?? (await (await embedded()).url('rehearsal'));
    if (options.report === true) {
      await printEffects(databaseUrl, json);
      return 0;
    }
    await requireMigrated(pool, place);
    const account = await chooseAccount({pool}, options.account);
    const {claimRehearsal} = await import('../service/business.ts');
    const claim = await claimRehearsal(databaseUrl);
    try {
      const running = await startFilled({pool, account, databaseUrl}, {config, options, faults});
      await serveUntilStopped(running, AbortSignal.any([signal, claim.lost]), ({url, token}) => {
        const connection = {url, token, timeZone: account.timeZone};
        print(json, {json: connection, text: describeRehearsal(account.name, connection)});
      });
      if (claim.lost.aborted) throw new FatalError(lostConnectionText);
    } finally {
      await claim.leave();
    }
    // Standard output must have only one JSON document.
    if (!json) await printEffects(databaseUrl, json);
    return 0;
  });
}

const lostConnectionText =
  'rehearse: the connection to its database broke, so another rehearsal may have begun there; ' +
  'this one has ended; rehearse --report prints what it received';

/** Nothing is filled before the port is reserved. */
async function startFilled(
  {pool, account, databaseUrl}: FillPlace,
  {
    config,
    options,
    faults,
  }: {
    readonly config: Config;
    readonly options: RehearseOptions;
    readonly faults: Awaited<ReturnType<typeof readFaultOption>>;
  },
): Promise<RunningService> {
  const {reservePort, startService} = await import('../service/server.ts');
  const {port} = options;
  const releasePort = await reservePort(port);
  try {
    printFilled(await fill({pool, account, databaseUrl}));
  } finally {
    await releasePort();
  }
  const {timeZone} = account;
  const log = createLogger({level: config.logLevel, secrets: [], isPretty: process.stderr.isTTY});
  return await startService({...faults, databaseUrl, port, timeZone, log});
}

async function printEffects(databaseUrl: string, json: boolean): Promise<void> {
  const {readEffects} = await import('../service/business.ts');
  const effects = await readEffects(databaseUrl);
  print(json, {json: effects, text: formatEffects(effects)});
}

interface FillResult {
  readonly records: number;
  /** Rows of the account that could not become a record. */
  readonly leftOut: number;
}

interface FillPlace {
  readonly pool: pg.Pool;
  readonly account: Account;
  readonly databaseUrl: string;
}

async function fill({pool, account, databaseUrl}: FillPlace): Promise<FillResult> {
  const {fillRehearsal} = await import('../service/business.ts');
  printStep(`filling the rehearsal with account ${account.name}`);
  const client = await pool.connect();
  try {
    await beginReading(client);
    await client.query('SET LOCAL statement_timeout = 0');
    const rows = await countRehearsalRows(client, account.accountId);
    const counts = await fillRehearsal(databaseUrl, {
      batches: readRehearsalRows(client, account.accountId, randomBytes(32)),
      timeZone: account.timeZone,
      today: formatToday(account.timeZone),
    });
    const records = [...counts.values()].reduce((total, count) => total + count, 0);
    return {records, leftOut: rows - records};
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

function printFilled({records, leftOut}: FillResult): void {
  printErr(`${formatNumber(records)} records, with personal data masked\n`);
  if (leftOut > 0)
    printErr(`left out: ${formatNumber(leftOut)} rows without an id, or without their parent\n`);
}

/** The token opens masked data only, so it may be shown. */
function describeRehearsal(
  name: string,
  {url, token, timeZone}: {readonly url: string; readonly token: string; readonly timeZone: string},
): string {
  return [
    `The rehearsal of account ${name} answers at ${url}`,
    '',
    'To point a connector at it, give it a separate warehouse, in another terminal:',
    '',
    '  export FIELDMIRROR_HOME=$(mktemp -d) FIELDMIRROR_ENV_FILE=/dev/null',
    '  unset DATABASE_URL DATABASE_DIRECT_URL REDIS_URL',
    `  export FIELDMIRROR_API_URL=${url}`,
    `  export FIELDMIRROR_API_TOKEN=${token}`,
    `  export FIELDMIRROR_TIME_ZONE=${timeZone}`,
    `  ${callOf('start')}`,
    '',
    'Nothing reaches the real service. Ctrl-C stops, and prints what would have changed there.',
  ].join('\n');
}

const verbs = {create: 'created', update: 'updated', delete: 'deleted'} as const;

function formatEffects(effects: readonly Effect[]): string {
  if (effects.length === 0) return 'Nothing would have changed.';
  const rows = effects.map(({table, kind, records, times, fields}) => [
    table,
    verbs[kind],
    formatNumber(records),
    formatNumber(times),
    Object.entries(fields)
      .map(([field, uses]) => `${field} ${formatNumber(uses)}`)
      .join('\n'),
  ]);
  const examples = effects.flatMap((effect) =>
    effect.examples.map(({method, path, number, values}) => {
      const details = Object.keys(values).length === 0 ? '' : `: ${JSON.stringify(values)}`;
      return `  ${method} ${path}\n    ${effect.table} ${number} ${verbs[effect.kind]}${details}`;
    }),
  );
  return [
    'What would have changed:',
    fitTable(['table', 'what', 'records', 'times', 'fields'], rows, [2, 3]),
    '',
    'The first of each:',
    ...examples,
  ].join('\n');
}
