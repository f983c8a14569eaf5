/**
 * Something about the business that a person may want to look at: never a failure of the mirror.
 */
export interface Finding {
  /** D1 to D6. */
  readonly name: string;
  readonly words: string;
  /** One row for each: the account, and what it is about. */
  readonly sql: string;
}

const aJob = `job.account_key, 'job ' || job.job_number AS about`;

export const findings: readonly Finding[] = [
  {
    name: 'D1',
    words: 'The lines of a job do not add up to its subtotal.',
    sql: `SELECT ${aJob} FROM mart.fct_job AS job WHERE job.charges > 0 AND job.charged <> job.subtotal`,
  },
  {
    name: 'D2',
    words: 'The subtotal and the tax of a job do not add up to its total.',
    sql: `SELECT ${aJob} FROM mart.fct_job AS job WHERE job.total <> job.subtotal + coalesce(job.tax, 0)`,
  },
  {
    name: 'D3',
    words:
      'The price of a line is not its quantity times its price, less its discount, to the cent.',
    sql: `SELECT line.account_key, 'job ' || job.job_number || ', ' || coalesce(line.description, 'a line') AS about
            FROM mart.fct_job_charge AS line JOIN mart.fct_job AS job USING (job_key) WHERE abs(line.difference) > 0.005`,
  },
  {
    name: 'D4',
    words: 'Hours overlap others of the same person, are of nobody, or are none or more than 16.',
    sql: `SELECT entry.account_key, 'job ' || job.job_number || ', ' || coalesce(person.name, 'nobody') || ', ' || coalesce(entry.work_date::text, 'no date') AS about
            FROM (SELECT held.*, lag(held.last_end) OVER (PARTITION BY held.employee_key ORDER BY held.started_at, held.time_entry_key) > held.started_at AS overlaps
                    FROM (SELECT one.*, max(one.ended_at) OVER (PARTITION BY one.employee_key ORDER BY one.started_at, one.time_entry_key) AS last_end
                            FROM mart.fct_time_entry AS one) AS held) AS entry
            JOIN mart.fct_job AS job USING (job_key) JOIN mart.dim_employee AS person USING (employee_key)
           WHERE entry.employee_key = -1 OR entry.is_doubtful OR entry.overlaps`,
  },
  {
    name: 'D5',
    words:
      'A job was completed before it was booked, has a balance though it is paid, or was invoiced before it was completed.',
    sql: `SELECT ${aJob} FROM mart.fct_job AS job JOIN warehouse.jobs AS sent ON sent.row_id = job.job_key
           WHERE job.completed_at < job.booked_at OR sent.invoice_paid_on IS NOT NULL AND job.balance > 0 OR job.invoiced_date < job.completed_date`,
  },
  {
    name: 'D6',
    words:
      'The service sent a status that nobody has told us of: the state of the job is told from its times.',
    sql: `SELECT ${aJob} FROM mart.fct_job AS job
           WHERE job.status IS NULL OR job.status NOT IN ('new', 'unscheduled', 'scheduled', 'in_progress', 'complete', 'canceled', 'cancelled', 'lost', 'won')`,
  },
];
