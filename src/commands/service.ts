import {once} from 'node:events';
import type {Config} from '../config.ts';
import {createLogger} from '../log.ts';
import {seedBusiness} from '../service/business.ts';
import {startService} from '../service/server.ts';
import {openEmbeddedPostgres} from '../warehouse/embedded.ts';
import {print} from './report.ts';
import {tellStep} from './tell-step.ts';
import {tellMaking} from './world.ts';

export interface ServiceOptions {
  readonly port: number;
  readonly seed: number;
  readonly customers: number;
  /** The day the business is looked at; one that follows from the seed when not given. */
  readonly today?: string;
  readonly dialect: 'observed' | 'documented';
  readonly pageSize: number;
  readonly order: 'number' | 'reversed' | 'changed';
  /** A path before every other; empty for none. */
  readonly base: string;
  /** True where only lists embed related data. */
  readonly plainShows?: boolean;
  /** Postgres of its own; the embedded one when not given. */
  readonly database?: string;
  readonly json: boolean;
}

/** Runs the reference service alone, until told to stop. */
export async function service(config: Config, options: ServiceOptions, signal: AbortSignal): Promise<number> {
  const embedded = options.database === undefined ? await openEmbeddedPostgres(config.home, tellStep) : null;
  try {
    const databaseUrl = options.database ?? (await embedded?.url('service')) ?? '';
    const {timeZone} = config;
    const {seed, customers, today} = options;
    await seedBusiness(databaseUrl, {
      seed,
      customers,
      timeZone,
      ...(today === undefined ? {} : {today}),
      onMaking: tellMaking,
    });
    const log = createLogger({level: config.logLevel, secrets: [], isPretty: process.stderr.isTTY});
    const {base: basePath, plainShows = false} = options;
    const running = await startService({
      ...options,
      databaseUrl,
      timeZone,
      basePath,
      showsEmbed: !plainShows,
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
    '  npm start -- --once',
    '',
    'Ctrl-C stops.',
  ].join('\n');
}
