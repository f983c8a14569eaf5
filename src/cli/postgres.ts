// The verbs about the warehouse as a whole: its address, a client on it, its removal.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {constants} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {listWorkers} from '../accounts/workers.ts';
import {describeChangeCount} from '../changes/words.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {printErr, printStep} from '../core/text.ts';
import {
  dropOwnSchemas,
  listDependents,
  listOwnSchemas,
  type OwnSchema,
} from '../health/installation.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {
  findEmbedded,
  hasEmbedded,
  openEmbeddedPostgres,
  removeEmbedded,
} from '../postgres/embedded.ts';
import {callOf, fitTable, type OutputOptions, print, typeBack} from './terminal.ts';
import {openPatientPool, requireEmbedded, withWarehouse} from './warehouse.ts';

interface UrlOptions {
  /** Whether the password is part of what is printed. */
  readonly password: boolean;
  readonly json: boolean;
}

/**
 * Prints the address of the warehouse, without its password unless `password` is set: screens are
 * shared, and output is kept in logs.
 * @throws {FatalError} there is no embedded Postgres, or it does not run: its port differs each
 *   time
 */
export async function url(config: Config, {password, json}: UrlOptions): Promise<number> {
  if (config.databaseUrl === null) requireEmbedded(config.home);
  const fullUrl = config.databaseUrl ?? (await findEmbedded(config.home));
  if (fullUrl === null) throw new FatalError(describeNotRunning(config.home));
  const urlWithoutPassword = removePassword(fullUrl);
  const printedUrl = password ? fullUrl : urlWithoutPassword;
  print(json, {json: {url: printedUrl}, text: printedUrl});
  if (!json && printedUrl !== fullUrl)
    printErr(`its password is left out: ${describePassword(config)}\n`);
  return 0;
}

/** Libpq accepts a password as a parameter, too. */
function removePassword(address: string): string {
  const parsedUrl = new URL(address);
  parsedUrl.password = '';
  for (const name of ['password', 'sslpassword']) parsedUrl.searchParams.delete(name);
  return parsedUrl.href;
}

function describeNotRunning(home: string): string {
  return (
    `url: expected the embedded Postgres in ${join(home, 'postgres')} to run, but it rests: ` +
    `it runs for as long as ${callOf('start')} does; ${callOf('psql')} starts it automatically`
  );
}

function describePassword({databaseUrl, home}: Config): string {
  const place = databaseUrl === null ? join(home, 'postgres.password') : 'DATABASE_URL';
  return `${place} has it, and fieldmirror url --password prints it`;
}

// The verb `psql`: runs the installed psql on the warehouse. psql gets the address in its
// environment: every user of the machine can read the arguments of a process.

/** Parameters of an address that psql reads from its environment. */
const variables: Readonly<Record<string, string>> = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslnegotiation: 'PGSSLNEGOTIATION',
  channel_binding: 'PGCHANNELBINDING',
  options: 'PGOPTIONS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
};

/** What psql is started with. */
interface PsqlStart {
  /** Passed to psql unchanged. */
  readonly args: readonly string[];
  /**
   * A user whose password psql prompts for, or reads from PGPASSWORD; null means the user of the
   * address, the owner.
   */
  readonly role: string | null;
  readonly signal: AbortSignal;
}

/**
 * Starts psql, and waits until it ends; the embedded Postgres runs until then.
 * @returns the exit code of psql
 * @throws {UsageError} psql is not installed
 */
export async function psql(config: Config, {args, role, signal}: PsqlStart): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, directUrl}) => {
    // If Postgres does not answer, our own message is printed before psql prints any.
    await pool.query('SELECT 1');
    const ownerEnvironment = toPsqlEnvironment(directUrl);
    const {PGPASSWORD: _, ...address} = ownerEnvironment;
    const environment = role === null ? ownerEnvironment : {...address, PGUSER: role};
    return await run(args, environment, signal);
  });
}

/** Converts an address to the variables that psql reads. */
export function toPsqlEnvironment(address: string): Readonly<Record<string, string>> {
  const {hostname, port, username, password, pathname, searchParams} = new URL(address);
  const parameters = Object.entries(variables).flatMap(([name, variable]) => {
    const value = searchParams.get(name);
    return value === null ? [] : [[variable, toPsqlValue(value)] as const];
  });
  const parts = [
    ['PGHOST', hostname.replace(/^\[(.*)\]$/, '$1')],
    ['PGPORT', port],
    ['PGUSER', username],
    ['PGPASSWORD', password],
    ['PGDATABASE', pathname.slice(1)],
  ] as const;
  const presentParts = parts.filter(([, value]) => value !== '');
  return Object.fromEntries([
    ...presentParts.map(([name, value]) => [name, decodeURIComponent(value)]),
    ...parameters,
  ]);
}

/** `no-verify`, TLS that checks no certificate, is a word of node-postgres; psql has another. */
function toPsqlValue(value: string): string {
  return value === 'no-verify' ? 'require' : value;
}

async function run(
  args: readonly string[],
  address: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> {
  // psql receives Ctrl-C as well: it ends its statement, and continues.
  process.removeAllListeners('SIGINT').on('SIGINT', () => {});
  const child = spawn('psql', args, {stdio: 'inherit', env: {...process.env, ...address}});
  signal.addEventListener('abort', () => child.kill());
  try {
    const [code, killedBy] = await once(child, 'close');
    return typeof code === 'number'
      ? code
      : 128 + (constants.signals[killedBy as NodeJS.Signals] ?? 0);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause;
    throw new UsageError(
      'psql: expected it to be installed, found none in PATH; it is part of the package ' +
        'postgresql-client on Debian and Ubuntu, postgresql on Fedora and Alpine, ' +
        'libpq of Homebrew. Any other client takes the address that fieldmirror url prints',
      {cause},
    );
  }
}

// The verb `reset`: an installation begins from nothing again. Only parts that Fieldmirror has made
// are removed; nothing is sent to the service.

const applicationName = 'fieldmirror reset';

/**
 * Removes the embedded Postgres, or our schemas from a Postgres of the user. It first shows the
 * contents, and a person types the name back.
 * @throws {UsageError} another name was typed
 * @throws {FatalError} a process uses it, or objects of others depend on our schemas: nothing is
 *   removed
 */
export async function reset(config: Config, {json}: OutputOptions): Promise<number> {
  if (config.databaseUrl === null) return await resetEmbedded(config, json);
  return await resetSchemas(config, config.directUrl ?? config.databaseUrl, json);
}

async function resetEmbedded({home}: Config, json: boolean): Promise<number> {
  const folder = join(home, 'postgres');
  if (!hasEmbedded(home)) return reportNothing(json, `there is no Postgres in ${folder}`);
  const openedAt = new Date();
  const embedded = await openEmbeddedPostgres(home, printStep);
  let contents: WarehouseContents;
  try {
    contents = await withPool(await embedded.url('warehouse'), async (pool) => {
      await refuseWorkers(pool, folder);
      refuseSessions(folder, await listSessions(pool, openedAt));
      return await confirmRemoval(
        pool,
        folder,
        'the data folder with every database in it, and its password',
      );
    });
  } finally {
    // The server stops, unless another process has joined meanwhile: then its folder is not
    // removed.
    await embedded.leave();
  }
  await removeEmbedded(home);
  print(json, {
    json: {removed: folder, ...contents},
    text: `${folder} is removed; ${describeNextStart()}`,
  });
  return 0;
}

async function resetSchemas({redisUrl}: Config, address: string, json: boolean): Promise<number> {
  return await withPool(address, async (pool) => {
    const {host, pathname} = new URL(address);
    const place = `${host}${pathname}`;
    if ((await readContents(pool)).schemas.length === 0)
      return reportNothing(json, `${place} has no schema of Fieldmirror`);
    await refuseWorkers(pool, place);
    refuseDependents(place, await listDependents(pool));
    const database = decodeURIComponent(pathname.slice(1));
    const contents = await confirmRemoval(
      pool,
      database,
      `these schemas of ${place}, with everything in them`,
    );
    await inTransaction(pool, async (client) => {
      refuseDependents(place, await listDependents(client));
      await dropOwnSchemas(client, contents.schemas);
    });
    const wakeUps = redisUrl === null ? '' : '; wake-ups that Redis holds still find nothing to do';
    print(json, {
      json: {removed: place, ...contents},
      text: `the schemas are removed${wakeUps}; ${describeNextStart()}`,
    });
    return 0;
  });
}

const describeNextStart = () =>
  `${callOf('start')} begins from scratch, with the settings that are there (the environment, ` +
  '.env). Backups, roles and files of settings stay';

function reportNothing(json: boolean, reason: string): number {
  print(json, {json: {removed: null}, text: `nothing to remove: ${reason}`});
  return 0;
}

/** Shows the contents that will be removed, and lets a person type the name back. */
async function confirmRemoval(
  pool: pg.Pool,
  name: string,
  removedParts: string,
): Promise<WarehouseContents> {
  const contents = await readContents(pool);
  printErr(
    `${formatContents(contents)}\nRemoved for good: ${removedParts}.\n` +
      'The service keeps what it has, and is not informed.\n',
  );
  await typeBack('to remove it', name);
  // A person thinks for a while; meanwhile a worker may have started.
  await refuseWorkers(pool, name);
  return contents;
}

async function refuseWorkers(pool: pg.Pool, place: string): Promise<void> {
  const {rows} = await pool.query(`SELECT to_regclass('sync.workers') IS NOT NULL AS "isThere"`);
  const workers = rows[0]?.isThere === true ? await listWorkers(pool) : [];
  const alive = workers.filter(({isAlive}) => isAlive);
  if (alive.length === 0) return;
  const names = alive.map(({host, pid}) => `process ${pid} on ${host}`).join(', ');
  throw new FatalError(
    `reset: ${place}: expected no worker to run, got ${names}; stop it with Ctrl-C where it ` +
      'runs (one that was killed counts for a minute), and reset again',
    {kind: 'in-use'},
  );
}

function refuseDependents(place: string, names: readonly string[]): void {
  if (names.length === 0) return;
  throw new FatalError(
    `reset: ${place}: expected none of your objects to depend on the removed schemas, ` +
      `got ${names.join(', ')}; drop it, or keep it as a separate table, and reset again`,
    {kind: 'dependents'},
  );
}

/** The sessions of other clients; the server uses the clock of this machine. */
async function listSessions(pool: pg.Pool, before: Date): Promise<string[]> {
  const {rows} = await pool.query<{name: string}>(
    `SELECT DISTINCT coalesce(nullif(application_name, ''), 'a client without a name') AS name
     FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND backend_start < $1 ORDER BY name`,
    [before],
  );
  return rows.map(({name}) => name);
}

function refuseSessions(place: string, names: readonly string[]): void {
  if (names.length === 0) return;
  throw new FatalError(
    `reset: ${place}: expected nothing to use it, got sessions of ${names.join(', ')}; ` +
      `stop ${callOf('start')}, the reference service and other clients, and reset again`,
    {kind: 'in-use'},
  );
}

async function withPool<T>(address: string, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = openPatientPool(address, applicationName);
  try {
    return await use(pool);
  } catch (error) {
    throw explainDatabaseError(error, address);
  } finally {
    await pool.end();
  }
}

// The contents of a warehouse, as they are shown before it is removed.

interface WarehouseContents {
  readonly schemas: readonly OwnSchema[];
  readonly accounts: readonly string[];
  /** Changes that were made here and are not settled. */
  readonly openChanges: number;
}

const megabyte = 1_000_000;

/** Counts only the parts that exist: another version may have made the schema. */
export async function readContents(db: Queryable): Promise<WarehouseContents> {
  const schemas = await listOwnSchemas(db);
  const {rows} = await db.query<{accounts: boolean; changes: boolean}>(
    `SELECT to_regclass('sync.accounts') IS NOT NULL AS accounts,
            EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('sync.changes')
              AND attname = 'is_open') AS changes`,
  );
  const existing = rows[0] ?? {accounts: false, changes: false};
  const accounts = existing.accounts
    ? (await db.query<{name: string}>('SELECT name FROM sync.accounts ORDER BY name')).rows
    : [];
  const changes = existing.changes
    ? (
        await db.query<{open: number}>(
          'SELECT count(*)::int AS open FROM sync.changes WHERE is_open',
        )
      ).rows
    : [];
  return {schemas, accounts: accounts.map(({name}) => name), openChanges: changes[0]?.open ?? 0};
}

function formatContents({schemas, accounts, openChanges}: WarehouseContents): string {
  const rows = schemas.map(({schema, tables, bytes}) => [
    schema,
    tables,
    Math.ceil(bytes / megabyte),
  ]);
  return [
    ...(rows.length === 0 ? [] : [fitTable(['schema', 'tables', 'MB'], rows)]),
    `accounts: ${accounts.length === 0 ? 'none' : accounts.join(', ')}`,
    ...(openChanges === 0
      ? []
      : [
          `${describeChangeCount(openChanges)} ${openChanges === 1 ? 'is' : 'are'} not settled: ` +
            'what was not sent is never sent',
        ]),
  ].join('\n');
}
