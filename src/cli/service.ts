// The reference service with a made-up business. The verb `service` runs it alone. As the demo, it
// is mirrored if there is no account, and some months of its past are played first.

import {once} from 'node:events';
import type pg from 'pg';
import {Temporal} from 'temporal-polyfill';
import {type Account, readAccount, upsertAccount} from '../accounts/accounts.ts';
import type {EnvironmentAccess} from '../accounts/open-accounts.ts';
import {createClient} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {createLogger} from '../core/log.ts';
import {demoName} from '../core/names.ts';
import {Secret} from '../core/secret.ts';
import {printStep} from '../core/text.ts';
import {openEmbeddedPostgres} from '../postgres/embedded.ts';
import type {Business} from '../service/business.ts';
import type {Faults} from '../service/faults.ts';
import type {RunningService} from '../service/server.ts';
import type {PastDeps} from './demo-past.ts';
import {callOf, print} from './terminal.ts';
import type {Opening} from './warehouse.ts';

interface ServiceOptions {
  readonly port: number;
  /**
   * 1 if not given, and 500 customers; for a business that exists already only given options count.
   */
  readonly seed?: number;
  readonly customers?: number;
  /** The present day of the business; if not given, it follows from the seed. */
  readonly today?: string;
  readonly dialect: 'observed' | 'documented';
  readonly pageSize: number;
  readonly order: 'number' | 'reversed' | 'changed';
  /** The business continues: by the clock, or faster by a factor. */
  readonly live?: boolean;
  readonly speed?: number;
  /** A path before every other; empty if there is none. */
  readonly base: string;
  /** True if only lists embed related data. */
  readonly plainShows?: boolean;
  /** The faults to cause on purpose, in the form that `readFaults` accepts. */
  readonly faults?: string | true;
  /** The address of a separate Postgres; the embedded one if not given. */
  readonly database?: string;
  readonly json: boolean;
}

/** Runs the reference service alone, until it is stopped. */
export async function service(
  config: Config,
  options: ServiceOptions,
  signal: AbortSignal,
): Promise<number> {
  if (options.speed !== undefined && options.live !== true)
    throw new UsageError(
      'service: --speed is for a business that keeps running: give --live as well',
    );
  const {faults: faultOption, ...serverOptions} = options;
  const faults = await readFaultOption(faultOption);
  const embedded =
    options.database === undefined ? await openEmbeddedPostgres(config.home, printStep) : null;
  embedded?.keepUp();
  try {
    const databaseUrl = options.database ?? (await embedded?.url('service')) ?? '';
    const {timeZone} = config;
    const {
      seed = 1,
      customers = 500,
      today = options.live === true ? formatToday(timeZone) : undefined,
    } = options;
    const {seedBusiness} = await import('../service/business.ts');
    const {startService} = await import('../service/server.ts');
    const business = await seedBusiness(databaseUrl, {
      seed,
      customers,
      timeZone,
      ...(today === undefined ? {} : {today}),
      onMaking: printMaking,
    });
    if (!business.isNew) refuseOtherBusiness(business, options);
    const log = createLogger({level: config.logLevel, secrets: [], isPretty: process.stderr.isTTY});
    const {base: basePath, plainShows = false} = options;
    const running = await startService({
      ...serverOptions,
      ...faults,
      databaseUrl,
      timeZone,
      basePath,
      showsEmbed: !plainShows,
      ...(options.live === true ? {speed: options.speed ?? 1} : {}),
      log,
    });
    await serveUntilStopped(running, signal, ({url, token}) =>
      print(options.json, {
        json: {url, token, timeZone},
        text: describeService({url, token, timeZone}),
      }),
    );
    return 0;
  } finally {
    await embedded?.leave();
  }
}

/**
 * The faults that the option `--faults` names, in the form that `startService` accepts.
 * @param option - true if it was given without a list
 * @throws {UsageError} an unknown fault
 */
export async function readFaultOption(
  option: string | true | undefined,
): Promise<{readonly faults?: Faults}> {
  if (option === undefined) return {};
  const {readFaults} = await import('../service/faults.ts');
  return {faults: readFaults(option === true ? 'usual' : option)};
}

/** Reports how a service is reached, and closes it when the signal aborts. */
export async function serveUntilStopped(
  running: RunningService,
  signal: AbortSignal,
  printAddress: (running: RunningService) => void,
): Promise<void> {
  try {
    printAddress(running);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await running.close();
  }
}

/** Today's date in a time zone: `2026-11-02`. */
export function formatToday(timeZone: string): string {
  return new Date().toLocaleDateString('sv-SE', {timeZone});
}

/**
 * @throws {UsageError} the options describe another business than the existing one, which would be
 *   shown
 */
function refuseOtherBusiness(
  {seed, madeCustomers, today}: Business,
  options: ServiceOptions,
): void {
  const facts = [
    ['--seed', seed, options.seed],
    ['--customers', madeCustomers, options.customers],
    ['--today', today, options.today],
  ] as const;
  const differing = facts.filter(
    ([, current, wanted]) => wanted !== undefined && String(current ?? '') !== String(wanted),
  );
  if (differing.length === 0) return;
  const lines = differing.map(
    ([option, current, wanted]) =>
      `service: ${option}: expected ${current ?? 'none'}, ` +
      `as of the business that is held here, got ${wanted}`,
  );
  throw new UsageError(
    `${lines.join('\n')}\nfor another business give another folder (FIELDMIRROR_HOME) ` +
      'or database (--database); for this one leave the option out',
  );
}

/** The token opens made-up data only, so it may be shown. */
function describeService(account: {
  readonly url: string;
  readonly token: string;
  readonly timeZone: string;
}): string {
  return [
    `The reference service answers at ${account.url}`,
    '',
    'To mirror it, in another terminal:',
    '',
    `  export FIELDMIRROR_API_URL=${account.url}`,
    `  export FIELDMIRROR_API_TOKEN=${account.token}`,
    `  export FIELDMIRROR_TIME_ZONE=${account.timeZone}`,
    `  ${callOf('start --once')}`,
    '',
    'Where the warehouse has the made-up business of a start without these lines ' +
      `(account ${demoName}),`,
    'both would be in it. To keep them apart, give this one a separate folder before, ' +
      'or another DATABASE_URL:',
    '',
    '  export FIELDMIRROR_HOME=$(mktemp -d)',
    '',
    'Ctrl-C stops.',
  ].join('\n');
}

/** The size of the made-up business at its beginning. */
const demoSize = {customers: 500, seed: 1};

/** Another process of this machine answers within this time, or it does not run. */
const answerTimeoutMs = 2000;

interface Demo {
  readonly account: Account;
  readonly access: EnvironmentAccess;
  readonly source: string;
}

/** Opens the reference service. The first time, it makes up a business, and plays its past. */
export async function openDemo(
  {config, closers, embedded}: Opening,
  deps: PastDeps,
): Promise<Demo> {
  const databaseUrl = await (await embedded()).url('service');
  const {timeZone} = config;
  const {latestNight, playPast, playUntilToday} = await import('./demo-past.ts');
  const today = latestNight(Temporal.Now.zonedDateTimeISO(timeZone));
  // The past is dated back only in a warehouse that is ours alone.
  const nights = config.databaseUrl === null ? config.demoNights : 0;
  const begin = today.subtract({days: nights});
  // Only this function loads the reference service: a verb such as `status` uses only the
  // warehouse.
  const {seedBusiness} = await import('../service/business.ts');
  const {startService} = await import('../service/server.ts');
  const business = await seedBusiness(databaseUrl, {
    ...demoSize,
    timeZone,
    today: begin.toString(),
    onMaking: printMaking,
  });
  const service = await startService({
    databaseUrl,
    port: 0,
    timeZone,
    dialect: 'observed',
    log: deps.log,
  });
  closers.add(() => service.close());
  const access = {apiUrl: service.url, token: new Secret(service.token)};
  const account = await openAccount(deps.pool, access, timeZone);
  if (nights > 0) {
    if (business.isNew) await playPast(deps, {account, databaseUrl, begin, nights});
    else await playUntilToday(databaseUrl, {today, timeZone});
  }
  return {
    account,
    access,
    // The token opens made-up data only, so it may be shown: a person who plays a dispatcher needs
    // it.
    source:
      `the reference service at ${service.url}, made-up data\n` +
      `         its token is ${service.token}`,
  };
}

/**
 * The address of the demo changes with each start. If another process that serves it still runs,
 * the account keeps that process's address: ours may end before.
 */
async function openAccount(
  pool: pg.Pool,
  {apiUrl, token}: EnvironmentAccess,
  timeZone: string,
): Promise<Account> {
  const storedAccount = await readAccount(pool, demoName);
  const isRunning =
    storedAccount !== null && (await isReachable({apiUrl: storedAccount.apiUrl, token}));
  const chosenUrl = isRunning ? storedAccount.apiUrl : apiUrl;
  return await upsertAccount(pool, {name: demoName, apiUrl: chosenUrl, timeZone}, {mayMove: true});
}

/** Whether the reference service of another process answers at an address. */
async function isReachable({apiUrl, token}: EnvironmentAccess): Promise<boolean> {
  const transport = createTransport({
    baseUrl: apiUrl,
    token,
    allowHttp: true,
    retry: {attempts: 1},
    limits: {timeoutMs: answerTimeoutMs},
  });
  try {
    await createClient(transport).fetchPage('/employees.xml', {page: '1'});
    return true;
  } catch {
    return false;
  } finally {
    await transport.close();
  }
}

/** Prints that a business is being made up, which takes seconds. */
function printMaking({customers, jobs}: {readonly customers: number; readonly jobs: number}): void {
  printStep(
    `making a business of ${formatNumber(customers)} customers and ${formatNumber(jobs)} jobs`,
  );
}
