// The business of a released warehouse, and its service: the same bytes whenever it is made.

import {seedBusiness} from '../../../src/service/business.ts';
import {type RunningService, startService} from '../../../src/service/server.ts';

export const account = {name: 'acme', timeZone: 'America/New_York'};

/** It seals what the warehouse keeps sealed; made up, as all in it. */
export const sealingKey = Buffer.alloc(32, 7).toString('base64');

const business = {
  seed: 23,
  customers: 12,
  jobs: 30,
  timeZone: account.timeZone,
  today: '2026-11-02',
};

/** Starts the service in an empty database. */
export async function serveBusiness(databaseUrl: string): Promise<RunningService> {
  await seedBusiness(databaseUrl, business);
  return await startService({
    databaseUrl,
    port: 0,
    timeZone: account.timeZone,
    dialect: 'observed',
  });
}
