// What is mirrored where there is no account: the reference service with a made-up business, which lived through some months
// before.

import type pg from 'pg';
import {Temporal} from 'temporal-polyfill';
import {Secret} from '../../../base/secret.ts';
import type {GivenAccess} from '../../../sync/accounts/accounts.ts';
import {demoName} from '../../../views/demo-name.ts';
import {formatNumber} from '../../../views/format.ts';
import {type Account, upsertAccount} from '../../../warehouse/accounts/accounts.ts';
import {tellStep} from '../../terminal/tell-step.ts';
import type {Opening} from '../../warehouse.ts';
import {latestNight} from './latest-night.ts';
import type {PastDeps} from './past.ts';

/** How large the made-up business is at its beginning. */
const size = {customers: 500, seed: 1};

export interface Demo {
  readonly account: Account;
  readonly access: GivenAccess;
  readonly source: string;
}

/** Opens the reference service; at the first time a business is made up, and its past is lived through. */
export async function openDemo({config, closers, embedded}: Opening, deps: PastDeps): Promise<Demo> {
  const databaseUrl = await (await embedded()).url('service');
  const {timeZone} = config;
  const today = latestNight(Temporal.Now.zonedDateTimeISO(timeZone));
  // The past is dated back in a warehouse that is ours alone.
  const nights = config.databaseUrl === null ? config.demoNights : 0;
  const begin = today.subtract({days: nights});
  // The reference service is loaded here alone: a verb such as `status` asks only the warehouse.
  const {seedBusiness} = await import('../../../service/business.ts');
  const {startService} = await import('../../../service/server.ts');
  const business = await seedBusiness(databaseUrl, {
    ...size,
    timeZone,
    today: begin.toString(),
    onMaking: tellMaking,
  });
  const service = await startService({databaseUrl, port: 0, timeZone, dialect: 'observed', log: deps.log});
  closers.add(() => service.close());
  const account = await openAccount(deps.pool, service.url, timeZone);
  if (nights > 0) {
    const {livePast, playOn} = await import('./past.ts');
    if (business.isNew) await livePast(deps, {account, databaseUrl, begin, nights});
    else await playOn(databaseUrl, {today, timeZone});
  }
  return {
    account,
    access: {apiUrl: service.url, token: new Secret(service.token)},
    // The token opens made-up data only, so it may be shown: a person who plays a dispatcher needs it.
    source: `the reference service at ${service.url}, made-up data\n         its token is ${service.token}`,
  };
}

/** Its address changes with each start. */
async function openAccount(pool: pg.Pool, apiUrl: string, timeZone: string): Promise<Account> {
  return await upsertAccount(pool, {name: demoName, apiUrl, timeZone}, {mayMove: true});
}

/** Says that a business is being made up, which takes seconds. */
export function tellMaking({customers, jobs}: {readonly customers: number; readonly jobs: number}): void {
  tellStep(`making a business of ${formatNumber(customers)} customers and ${formatNumber(jobs)} jobs`);
}
