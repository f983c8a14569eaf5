// The reference service with a made-up business of so many jobs.

import {seedBusiness} from '../../src/service/business.ts';
import {type RunningService, startService} from '../../src/service/server.ts';

const timeZone = 'America/New_York';
const jobsPerCustomer = 6;

/** @param business.databaseUrl - an empty database for the service */
export async function startBusiness(business: {
  readonly databaseUrl: string;
  readonly jobs: number;
  readonly compress: boolean;
}): Promise<RunningService> {
  const {databaseUrl, jobs, compress} = business;
  await seedBusiness(databaseUrl, {
    seed: 1,
    customers: Math.ceil(jobs / jobsPerCustomer),
    jobs,
    timeZone,
  });
  return await startService({databaseUrl, port: 0, timeZone, dialect: 'observed', compress});
}
