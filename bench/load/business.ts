// The reference service with a made-up business of so many jobs.

import {seedBusiness} from '../../src/service/business.ts';
import {type RunningService, type ServiceOptions, startService} from '../../src/service/server.ts';

const timeZone = 'America/New_York';
const jobsPerCustomer = 6;

/** @param business.databaseUrl - an empty database for the service */
export async function startBusiness(business: {
  readonly databaseUrl: string;
  readonly jobs: number;
  readonly compress: boolean;
  /** The order of its lists; by number unless told otherwise. */
  readonly order?: ServiceOptions['order'];
}): Promise<RunningService> {
  const {databaseUrl, jobs, compress, order = 'number'} = business;
  await seedBusiness(databaseUrl, {
    seed: 1,
    customers: Math.ceil(jobs / jobsPerCustomer),
    jobs,
    timeZone,
  });
  return await startService({databaseUrl, port: 0, timeZone, dialect: 'observed', compress, order});
}
