import {sync} from '../accounts/accounts-table.ts';
import {bigNumber, instant} from '../postgres/column-types.ts';
import {commentTable} from '../schema/commented-table.ts';

export const staleJobsTable = commentTable(
  sync.table('stale_jobs', {
    account_id: bigNumber(),
    job_number: bigNumber(),
    customer_id: bigNumber(),
    noted_at: instant().notNull().defaultNow(),
  }),
  'What the next refresh of the star is to look at: jobs, the jobs of customers, or with neither every job.',
  {
    account_id: 'The account.',
    job_number: 'Number of the job.',
    customer_id: 'The customer whose jobs these are: customers.id.',
    noted_at: 'When it was noted.',
  },
);
