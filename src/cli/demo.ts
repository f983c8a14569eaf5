// What is mirrored where there is no account: the reference service with a made-up business, which
// lived through some months before.

import type pg from 'pg';
import {Temporal} from 'temporal-polyfill';
import {type Account, readAccount, upsertAccount} from '../accounts/accounts.ts';
import type {GivenAccess} from '../accounts/open-accounts.ts';
import {createClient} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import {formatNumber} from '../core/format.ts';
import {demoName} from '../core/names.ts';
import {Secret} from '../core/secret.ts';
import {latestNight} from './demo-latest-night.ts';
import type {PastDeps} from './demo-past.ts';
import {tellStep} from './tell-step.ts';
import type {Opening} from './with-warehouse.ts';

/** How large the made-up business is at its beginning. */
const size = {customers: 500, seed: 1};

/** Another process of this machine answers at once, or is not there. */
const answersWithinMs = 2000;

export interface Demo {
  readonly account: Account;
  readonly access: GivenAccess;
  readonly source: string;
}

/**
 * Opens the reference service; at the first time a business is made up, and its past is lived
 * through.
 */
export async function openDemo(
  {config, closers, embedded}: Opening,
  deps: PastDeps,
): Promise<Demo> {
  const databaseUrl = await (await embedded()).url('service');
  const {timeZone} = config;
  const today = latestNight(Temporal.Now.zonedDateTimeISO(timeZone));
  // The past is dated back in a warehouse that is ours alone.
  const nights = config.databaseUrl === null ? config.demoNights : 0;
  const begin = today.subtract({days: nights});
  // The reference service is loaded here alone: a verb such as `status` asks only the warehouse.
  const {seedBusiness} = await import('../service/business.ts');
  const {startService} = await import('../service/server.ts');
  const business = await seedBusiness(databaseUrl, {
    ...size,
    timeZone,
    today: begin.toString(),
    onMaking: tellMaking,
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
    const {livePast, playOn} = await import('./demo-past.ts');
    if (business.isNew) await livePast(deps, {account, databaseUrl, begin, nights});
    else await playOn(databaseUrl, {today, timeZone});
  }
  return {
    account,
    access,
    // The token opens made-up data only, so it may be shown: a person who plays a dispatcher needs
    // it.
    source: `the reference service at ${service.url}, made-up data\n         its token is ${service.token}`,
  };
}

/**
 * Its address changes with each start, but stays that of a process which is still running: ours may
 * end before that one.
 */
async function openAccount(
  pool: pg.Pool,
  {apiUrl, token}: GivenAccess,
  timeZone: string,
): Promise<Account> {
  const held = await readAccount(pool, demoName);
  const isRunning = held !== null && (await answers({apiUrl: held.apiUrl, token}));
  const kept = isRunning ? held.apiUrl : apiUrl;
  return await upsertAccount(pool, {name: demoName, apiUrl: kept, timeZone}, {mayMove: true});
}

/** Whether the reference service of another process answers at an address. */
async function answers({apiUrl, token}: GivenAccess): Promise<boolean> {
  const transport = createTransport({
    ...{baseUrl: apiUrl, token, allowHttp: true},
    ...{retry: {attempts: 1}, limits: {timeoutMs: answersWithinMs}},
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

/** Says that a business is being made up, which takes seconds. */
export function tellMaking({
  customers,
  jobs,
}: {
  readonly customers: number;
  readonly jobs: number;
}): void {
  tellStep(
    `making a business of ${formatNumber(customers)} customers and ${formatNumber(jobs)} jobs`,
  );
}
