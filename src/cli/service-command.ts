import {once} from 'node:events';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {createLogger} from '../core/log.ts';
import {demoName} from '../core/names.ts';
import {openEmbeddedPostgres} from '../postgres/embedded.ts';
import {type Business, seedBusiness} from '../service/business.ts';
import {startService} from '../service/server.ts';
import {tellMaking} from './demo.ts';
import {callOf} from './next-steps.ts';
import {print} from './report.ts';
import {tellStep} from './tell-step.ts';

export interface ServiceOptions {
  readonly port: number;
  /**
   * 1 when not given, and 500 customers; for a business that is there already only given options
   * count.
   */
  readonly seed?: number;
  readonly customers?: number;
  /** The day the business is looked at; one that follows from the seed when not given. */
  readonly today?: string;
  readonly dialect: 'observed' | 'documented';
  readonly pageSize: number;
  readonly order: 'number' | 'reversed' | 'changed';
  /** The business goes on: by the clock, or so many times faster. */
  readonly live?: boolean;
  readonly speed?: number;
  /** A path before every other; empty for none. */
  readonly base: string;
  /** True where only lists embed related data. */
  readonly plainShows?: boolean;
  /** Postgres of its own; the embedded one when not given. */
  readonly database?: string;
  readonly json: boolean;
}

/** Runs the reference service alone, until told to stop. */
export async function service(
  config: Config,
  options: ServiceOptions,
  signal: AbortSignal,
): Promise<number> {
  if (options.speed !== undefined && options.live !== true)
    throw new UsageError('service: --speed is for a business that goes on: give --live as well');
  const embedded =
    options.database === undefined ? await openEmbeddedPostgres(config.home, tellStep) : null;
  embedded?.keepUp();
  try {
    const databaseUrl = options.database ?? (await embedded?.url('service')) ?? '';
    const {timeZone} = config;
    const {
      seed = 1,
      customers = 500,
      today = options.live === true ? todayIn(timeZone) : undefined,
    } = options;
    const business = await seedBusiness(databaseUrl, {
      seed,
      customers,
      timeZone,
      ...(today === undefined ? {} : {today}),
      onMaking: tellMaking,
    });
    if (!business.isNew) refuseAnother(business, options);
    const log = createLogger({level: config.logLevel, secrets: [], isPretty: process.stderr.isTTY});
    const {base: basePath, plainShows = false} = options;
    const running = await startService({
      ...options,
      databaseUrl,
      timeZone,
      basePath,
      showsEmbed: !plainShows,
      ...(options.live === true ? {speed: options.speed ?? 1} : {}),
      log,
    });
    try {
      const {url, token} = running;
      print(options.json, {json: {url, token, timeZone}, text: describe({url, token, timeZone})});
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await running.close();
    }
    return 0;
  } finally {
    await embedded?.leave();
  }
}

/** The date on which a business that lives is made up. */
function todayIn(timeZone: string): string {
  return new Date().toLocaleDateString('sv-SE', {timeZone});
}

/**
 * @throws {UsageError} the options ask for another business than the one that is there and would be
 * shown
 */
function refuseAnother({seed, madeCustomers, today}: Business, asked: ServiceOptions): void {
  const facts = [
    ['--seed', seed, asked.seed],
    ['--customers', madeCustomers, asked.customers],
    ['--today', today, asked.today],
  ] as const;
  const differing = facts.filter(
    ([, held, wanted]) => wanted !== undefined && String(held ?? '') !== String(wanted),
  );
  if (differing.length === 0) return;
  const lines = differing.map(
    ([option, held, wanted]) =>
      `service: ${option}: expected ${held ?? 'none'}, as of the business that is held here, got ${wanted}`,
  );
  throw new UsageError(
    `${lines.join('\n')}\nfor another business give another folder (FIELDMIRROR_HOME) or database (--database); for this one leave the option out`,
  );
}

/** The token opens made-up data only, so it may be shown. */
function describe(account: {
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
    `Where the warehouse has the made-up business of a start without these lines (account ${demoName}),`,
    'both would be in it. To keep them apart, give this one a folder of its own before, or another DATABASE_URL:',
    '',
    '  export FIELDMIRROR_HOME=$(mktemp -d)',
    '',
    'Ctrl-C stops.',
  ].join('\n');
}
