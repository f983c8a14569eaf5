// The verb `rehearse`: the reference service with the masked records of one account, on which a
// connector is tried. At the end it prints what the connector has done to them.

import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {createLogger} from '../core/log.ts';
import {tellAside, tellStep} from '../core/text.ts';
import {checkMigrations} from '../schema/checks.ts';
import type {Effect} from '../service/rehearsal.ts';
import {beginReading} from '../star/answer.ts';
import {chooseAccount} from './accounts.ts';
import {callOf, fitTable, print} from './print.ts';
import {readAskedFaults, serveUntilStopped, todayIn} from './service.ts';
import {withWarehouse} from './warehouse.ts';

interface RehearseOptions {
  readonly account?: string;
  readonly port: number;
  /** What goes wrong on purpose, as `readFaults` takes it. */
  readonly faults?: string | true;
  /** Postgres of its own; the embedded one when not given. */
  readonly database?: string;
  /** Prints what the last rehearsal has received so far, and starts none. */
  readonly report?: boolean;
  readonly json: boolean;
}

/**
 * Fills a reference service from an account of the warehouse, runs it until told to stop, and
 * prints what was done to its records; as JSON only where the report is asked for.
 * @throws {UsageError} no such account or fault, or the database holds something else
 * @throws {FatalError} the warehouse is not of this version, or the port is taken
 */
export async function rehearse(
  config: Config,
  options: RehearseOptions,
  signal: AbortSignal,
): Promise<number> {
  const {json} = options;
  const faults = await readAskedFaults(options.faults);
  // The embedded Postgres has room for the service, wherever the warehouse is.
  const opening = {migrates: false, makes: config.databaseUrl !== null, signal};
  return await withWarehouse(config, opening, async ({pool, place}, {embedded}) => {
    const databaseUrl = options.database ?? (await (await embedded()).url('rehearsal'));
    if (options.report === true) {
      await printEffects(databaseUrl, json);
      return 0;
    }
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const account = await chooseAccount({pool}, options.account);
    tellFilled(await fill(pool, account, databaseUrl));
    const {startService} = await import('../service/server.ts');
    const {timeZone} = account;
    const log = createLogger({level: config.logLevel, secrets: [], isPretty: process.stderr.isTTY});
    const running = await startService({...faults, databaseUrl, port: options.port, timeZone, log});
    await serveUntilStopped(running, signal, ({url, token}) => {
      const told = {url, token, timeZone};
      print(json, {json: told, text: describe(account.name, told)});
    });
    // Standard output has one document.
    if (!json) await printEffects(databaseUrl, json);
    return 0;
  });
}

async function printEffects(databaseUrl: string, json: boolean): Promise<void> {
  const {readEffects} = await import('../service/rehearsal.ts');
  const effects = await readEffects(databaseUrl);
  print(json, {json: effects, text: drawEffects(effects)});
}

interface Filled {
  readonly records: number;
  /** Rows of the account that could not become a record. */
  readonly leftOut: number;
}

async function fill(pool: pg.Pool, account: Account, databaseUrl: string): Promise<Filled> {
  const {fillRehearsal} = await import('../service/rehearsal.ts');
  const {countRehearsalRows, readRehearsalRows} = await import('./rehearsal-rows.ts');
  tellStep(`filling the rehearsal with account ${account.name}`);
  const client = await pool.connect();
  try {
    await beginReading(client);
    await client.query('SET LOCAL statement_timeout = 0');
    const rows = await countRehearsalRows(client, account.accountId);
    const counts = await fillRehearsal(databaseUrl, {
      batches: readRehearsalRows(client, account.accountId, randomBytes(32)),
      timeZone: account.timeZone,
      today: todayIn(account.timeZone),
    });
    const records = [...counts.values()].reduce((all, count) => all + count, 0);
    return {records, leftOut: rows - records};
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

function tellFilled({records, leftOut}: Filled): void {
  tellAside(`${formatNumber(records)} records, with personal data masked\n`);
  if (leftOut > 0)
    tellAside(`left out: ${formatNumber(leftOut)} rows without an id, or without their parent\n`);
}

/** The token opens masked data only, so it may be shown. */
function describe(
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

const words = {create: 'created', update: 'updated', delete: 'deleted'} as const;

function drawEffects(effects: readonly Effect[]): string {
  if (effects.length === 0) return 'Nothing would have changed.';
  const rows = effects.map(({table, kind, records, times, fields}) => [
    table,
    words[kind],
    formatNumber(records),
    formatNumber(times),
    Object.entries(fields)
      .map(([field, uses]) => `${field} ${formatNumber(uses)}`)
      .join('\n'),
  ]);
  const examples = effects.flatMap((effect) =>
    effect.examples.map(({method, path, number, values}) => {
      const written = Object.keys(values).length === 0 ? '' : `: ${JSON.stringify(values)}`;
      return `  ${method} ${path}\n    ${effect.table} ${number} ${words[effect.kind]}${written}`;
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
