import {sync} from '../accounts/tables.ts';
import {bigNumber, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';

export const staleJobsTable = commentTable(
  sync.table('stale_jobs', {
    account_id: bigNumber(),
    job_numbers: bigNumber().array(),
    customer_ids: bigNumber().array(),
    noted_at: instant().notNull().defaultNow(),
    note_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
  }),
  'What the next refresh of the star is to look at, a row a statement: jobs, the jobs of customers, or with neither every job.',
  {
    account_id: 'The account.',
    job_numbers: 'Numbers of the jobs.',
    customer_ids: 'The customers whose jobs these are: customers.id.',
    noted_at: 'When it was noted.',
    note_id: 'Number of the note.',
  },
);
