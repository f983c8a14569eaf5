// The checks of the star: claims that must hold, and findings about the business; the check of one
// state of the warehouse, and how a reader gets a state in which the star has all changes.

import type pg from 'pg';
import {partTables, refreshStar} from './mart.ts';
import {resolveRowKey} from './member.ts';
import {listRelations, members} from './star.ts';

/** A claim about the star that a query can break: each row it returns is a break. */
interface TieOut {
  /** T1 to T19. */
  readonly name: string;
  readonly claim: string;
  readonly sql: string;
}

/**
 * A sum over the live rows of a warehouse table, and the same over its fact, account by account.
 */
function findDifferentSums(
  warehouse: string,
  sums: string,
  fact: string,
  factSums: string,
): string {
  return `SELECT * FROM (SELECT account_id AS account_key, ${sums} FROM ${warehouse}
                          GROUP BY account_id) AS mirrored
    FULL JOIN (SELECT account_key, ${factSums} FROM ${fact}
                GROUP BY account_key) AS told USING (account_key)
   WHERE (mirrored.*) IS DISTINCT FROM (told.*)`;
}

/**
 * Both queries give the same rows, equally often; each is run once. Rows are compared as they are,
 * because a comparison as JSON takes three to four times as long.
 */
function findDifferentRows(left: string, right: string): string {
  return `SELECT to_jsonb(told) AS told
            FROM (SELECT one AS told, 1 AS side FROM ${left} AS one
                   UNION ALL
                  SELECT other, -1 FROM ${right} AS other) AS sides
           GROUP BY sides.told HAVING sum(side) <> 0`;
}

const duplicateKeys = members
  .map((member) => {
    const key = resolveRowKey(member);
    return `SELECT '${member.name}' AS member, to_jsonb(array_agg(${key[0]})) AS keys
         FROM mart.${member.name} GROUP BY ${key.join(', ')} HAVING count(*) > 1`;
  })
  .join(' UNION ALL ');

const danglingKeys = members
  .flatMap((member) =>
    listRelations(member).map(({column, target, key, mayBeNone}) => {
      const noneSql = mayBeNone ? ` AND held.${column} <> -1` : '';
      const accountSql =
        target === 'dim_account' ? '' : ' OR there.account_key <> held.account_key';
      return `SELECT '${member.name}.${column}' AS place, held.${column}::text AS key
           FROM mart.${member.name} AS held
           LEFT JOIN mart.${target} AS there ON there.${key} = held.${column}
          WHERE held.${column} IS NOT NULL${noneSql} AND (there.${key} IS NULL${accountSql})`;
    }),
  )
  .join(' UNION ALL ');

const selectLive = (table: string, number: string) =>
  `(SELECT * FROM warehouse.${table} WHERE _deleted_at IS NULL AND ${number} IS NOT NULL) AS live`;

/** Each returns no row, over all accounts, at every age of a business. */
export const tieOuts: readonly TieOut[] = [
  {
    name: 'T1',
    claim: 'The jobs and their money are those of the warehouse.',
    sql: findDifferentSums(
      selectLive('jobs', 'job_number'),
      'count(*), sum(subtotal) AS subtotal, sum(tax) AS tax, sum(total) AS total, ' +
        'sum(balance_remaining) AS balance',
      'mart.fct_job',
      'count(*), sum(subtotal) AS subtotal, sum(tax) AS tax, sum(total) AS total, ' +
        'sum(balance) AS balance',
    ),
  },
  {
    name: 'T2',
    claim: 'The lines and their amounts are those of the warehouse.',
    sql: findDifferentSums(
      selectLive('job_charges', 'id'),
      'count(*), sum(total) AS amount',
      'mart.fct_job_charge',
      'count(*), sum(amount) AS amount',
    ),
  },
  {
    name: 'T3',
    claim: 'The entries and their hours are those of the warehouse.',
    sql: findDifferentSums(
      selectLive('time_entries', 'id'),
      'count(*), sum(number_of_hours) AS hours',
      'mart.fct_time_entry',
      'count(*), sum(hours) AS hours',
    ),
  },
  {
    name: 'T4',
    claim: 'A job has as many lines as it says, and they add up to what it says was charged.',
    sql: `SELECT job.job_key FROM mart.fct_job AS job
            LEFT JOIN (SELECT job_key, sum(amount) AS amount, count(*) AS lines
                         FROM mart.fct_job_charge GROUP BY job_key) AS line USING (job_key)
           WHERE (coalesce(job.charged, 0), job.charges) IS DISTINCT FROM (coalesce(line.amount, 0),
             coalesce(line.lines, 0))`,
  },
  {
    name: 'T5',
    claim: 'The shares of a job add up to its subtotal and to 1.',
    sql: `SELECT job.job_key FROM mart.fct_job AS job
        LEFT JOIN mart.fct_assignment AS held USING (job_key)
           GROUP BY job.job_key, job.subtotal
          HAVING sum(held.amount_share) IS DISTINCT FROM job.subtotal
              OR sum(held.job_share) IS DISTINCT FROM 1`,
  },
  {
    name: 'T6',
    claim:
      'The payments of a job add up to the amount collected for it; those of a deleted job add ' +
      'up to nothing.',
    sql: `SELECT job_key FROM mart.fct_job AS job
        FULL JOIN (SELECT job_key, sum(amount) AS amount FROM mart.fct_payment
                    GROUP BY job_key) AS paid USING (job_key)
           WHERE coalesce(job.collected, 0) <> coalesce(paid.amount, 0)`,
  },
  {
    name: 'T7',
    claim: 'The backlog of today is the jobs that are open.',
    sql: `SELECT *
        FROM (SELECT account_key, count(*) FILTER (WHERE is_open) AS jobs,
                     coalesce(sum(open_amount), 0) AS amount FROM mart.fct_job
                       GROUP BY account_key) AS open
            LEFT JOIN (SELECT day.account_key, day.open_jobs, day.open_amount
                         FROM mart.fct_backlog_day AS day
                         JOIN mart.dim_account AS account ON account.account_key = day.account_key
                          AND account.today = day.date) AS today USING (account_key)
           WHERE (open.jobs, open.amount) IS DISTINCT FROM (coalesce(today.open_jobs, 0),
             coalesce(today.open_amount, 0))`,
  },
  {
    name: 'T8',
    claim: 'On every day the backlog is the jobs that were open on its end.',
    sql: `SELECT * FROM mart.fct_backlog_day AS day
            FULL JOIN (SELECT account_key, date, count(*) AS jobs, sum(amount) AS amount
                         FROM mart.fct_open_job_day
                        GROUP BY account_key, date) AS open USING (account_key, date)
           WHERE (coalesce(day.open_jobs, 0),
             coalesce(day.open_amount, 0)) IS DISTINCT FROM (coalesce(open.jobs, 0),
             coalesce(open.amount, 0))`,
  },
  {
    name: 'T9',
    claim: 'The hours of the days are the hours of the entries that have a date.',
    sql: `SELECT * FROM (SELECT account_key, sum(hours) AS hours, sum(billable_hours) AS billable
                           FROM mart.fct_employee_day GROUP BY account_key) AS day
            FULL JOIN (SELECT account_key, sum(hours) AS hours, sum(billable_hours) AS billable
                         FROM mart.fct_time_entry WHERE work_date IS NOT NULL
                        GROUP BY account_key) AS entry USING (account_key)
           WHERE (coalesce(day.hours, 0),
             coalesce(day.billable, 0)) IS DISTINCT FROM (coalesce(entry.hours, 0),
             coalesce(entry.billable, 0))`,
  },
  {name: 'T10', claim: 'No key is twice in a member of the star.', sql: duplicateKeys},
  {
    name: 'T11',
    claim: 'No key points at a row that is not there, or at one of another account.',
    sql: danglingKeys,
  },
  {
    name: 'T12',
    claim: 'Each customer with a completed job has exactly one first.',
    sql: `SELECT customer_key FROM mart.fct_job WHERE job_state = 'completed' AND customer_key <> -1
           GROUP BY customer_key
          HAVING count(*) FILTER (WHERE is_first_completed_of_customer) <> 1`,
  },
  {
    name: 'T13',
    claim: 'The last change of state of a job led to the state it is in.',
    sql: `SELECT job.job_key FROM mart.fct_job AS job
            LEFT JOIN (SELECT DISTINCT ON (job_key) job_key, to_state
                         FROM mart.fct_job_status_change
                        ORDER BY job_key, observed_at DESC) AS last USING (job_key)
           WHERE job.job_state IS DISTINCT FROM last.to_state`,
  },
  {
    name: 'T14',
    claim: 'All revenue has a date.',
    sql: `SELECT account_key FROM mart.fct_job GROUP BY account_key
          HAVING sum(completed_amount) <> coalesce(sum(completed_amount)
            FILTER (WHERE completed_date IS NOT NULL), 0)`,
  },
  {
    name: 'T15',
    claim: 'As of this moment every member is what it is.',
    sql: members
      .filter(({isOfVersions}) => !isOfVersions)
      .map(({name}) => `(${findDifferentRows(`mart.${name}`, `mart.${name}_as_of(now())`)})`)
      .join(' UNION ALL '),
  },
  {
    name: 'T16',
    claim: 'The receivables are the sum of their four ages.',
    sql: `SELECT account.account_key FROM mart.fct_job AS job
        JOIN mart.dim_account AS account USING (account_key)
       GROUP BY account.account_key, account.today
          HAVING sum(job.receivable) <> coalesce(sum(job.receivable)
            FILTER (WHERE account.today - job.invoiced_date <= 30), 0)
                                      + coalesce(sum(job.receivable)
                                        FILTER (WHERE account.today - job.invoiced_date BETWEEN 31
                                          AND 60), 0)
                                      + coalesce(sum(job.receivable)
                                        FILTER (WHERE account.today - job.invoiced_date BETWEEN 61
                                          AND 90), 0)
                                      + coalesce(sum(job.receivable)
                                        FILTER (WHERE account.today - job.invoiced_date > 90), 0)`,
  },
  {
    name: 'T17',
    claim: 'The tax that was invoiced is that of the jobs with an invoice that are not cancelled.',
    sql: findDifferentSums(
      `(SELECT account_id, tax FROM warehouse.jobs
         WHERE _deleted_at IS NULL AND job_number IS NOT NULL AND invoice_date IS NOT NULL
          AND status IS DISTINCT FROM 'canceled' AND status IS DISTINCT FROM 'cancelled'
          AND canceled_on IS NULL) AS live`,
      'coalesce(sum(tax), 0) AS tax',
      '(SELECT * FROM mart.fct_job WHERE invoiced_date IS NOT NULL) AS invoiced',
      'sum(invoiced_tax) AS tax',
    ),
  },
  {
    name: 'T18',
    claim: 'A line, an entry or an assignment has the customer, the kind and the date of its job.',
    sql: partTables
      .map(
        (part) => `SELECT part.job_key FROM mart.${part} AS part JOIN mart.fct_job AS job
            USING (job_key)
           WHERE (part.customer_key, part.job_type_key, part.completed_date)
             IS DISTINCT FROM (job.customer_key, job.job_type_key, job.completed_date)`,
      )
      .join(' UNION ALL '),
  },
  {
    name: 'T19',
    claim: 'A repeat visit is the first job of its kind booked by its customer in the days after.',
    sql: `SELECT visit.job_key FROM mart.fct_repeat_visit AS visit
            FULL JOIN (SELECT job.* FROM mart.fct_job AS job
                        WHERE job.job_state = 'completed' AND job.completed_at IS NOT NULL
                          AND NOT job.is_repeated_by_schedule) AS job USING (job_key)
            LEFT JOIN mart.dim_account AS account ON account.account_key = job.account_key
            LEFT JOIN LATERAL (
                 SELECT later.job_key, later.booked_date FROM mart.fct_job AS later
                  WHERE later.customer_key = job.customer_key AND later.customer_key <> -1
                    AND later.job_type_key = job.job_type_key
                    AND (later.is_open OR later.job_state = 'completed')
                    AND NOT later.was_estimate AND NOT later.is_repeated_by_schedule
                    AND least(later.booked_at, later.completed_at) > job.completed_at
                  ORDER BY later.booked_at, later.job_key LIMIT 1) AS next
              ON next.booked_date <= job.completed_date + account.repeat_visit_days
           WHERE visit.account_key IS NULL OR job.account_key IS NULL
              OR visit.repeat_job_key IS DISTINCT FROM next.job_key`,
  },
];

/**
 * Something about the business that a person may want to look at: never a failure of the mirror.
 */
interface Finding {
  /** D1 to D6. */
  readonly name: string;
  readonly description: string;
  /** One row for each: the account, and what it is about. */
  readonly sql: string;
}

const jobAbout = `job.account_key, 'job ' || job.job_number AS about`;

export const findings: readonly Finding[] = [
  {
    name: 'D1',
    description: 'The lines of a job do not add up to its subtotal.',
    sql: `SELECT ${jobAbout} FROM mart.fct_job AS job
        WHERE job.charges > 0 AND job.charged <> job.subtotal`,
  },
  {
    name: 'D2',
    description: 'The subtotal and the tax of a job do not add up to its total.',
    sql: `SELECT ${jobAbout} FROM mart.fct_job AS job
        WHERE job.total <> job.subtotal + coalesce(job.tax, 0)`,
  },
  {
    name: 'D3',
    description:
      'The price of a line is not its quantity times its price, less its discount, to the cent.',
    sql: `SELECT line.account_key, 'job ' || job.job_number || ', ' || coalesce(line.description,
        'a line') AS about
            FROM mart.fct_job_charge AS line JOIN mart.fct_job AS job USING (job_key)
           WHERE abs(line.difference) > 0.005`,
  },
  {
    name: 'D4',
    description:
      'Hours overlap others of the same person, have no employee, or are zero or more than 16.',
    sql: `SELECT entry.account_key, 'job ' || job.job_number || ', ' || coalesce(person.name,
        'no employee') || ', ' || coalesce(entry.work_date::text, 'no date') AS about
            FROM (SELECT held.*, lag(held.last_end) OVER (PARTITION BY held.employee_key
              ORDER BY held.started_at, held.time_entry_key) > held.started_at AS overlaps
                    FROM (SELECT one.*, max(one.ended_at) OVER (PARTITION BY one.employee_key
                      ORDER BY one.started_at, one.time_entry_key) AS last_end
                            FROM mart.fct_time_entry AS one) AS held) AS entry
            JOIN mart.fct_job AS job USING (job_key)
            JOIN mart.dim_employee AS person USING (employee_key)
           WHERE entry.employee_key = -1 OR entry.is_doubtful OR entry.overlaps`,
  },
  {
    name: 'D5',
    description:
      'A job was completed before it was booked, has a balance though it is paid, ' +
      'or was invoiced before it was completed.',
    sql: `SELECT ${jobAbout} FROM mart.fct_job AS job
        JOIN warehouse.jobs AS sent ON sent.row_id = job.job_key
           WHERE job.completed_at < job.booked_at OR sent.invoice_paid_on IS NOT NULL
             AND job.balance > 0 OR job.invoiced_date < job.completed_date`,
  },
  {
    name: 'D6',
    description:
      'The service sent a status that Fieldmirror does not know: the state of the job is ' +
      'derived from its times.',
    sql: `SELECT ${jobAbout} FROM mart.fct_job AS job
           WHERE job.status IS NULL OR job.status NOT IN ('new', 'unscheduled', 'scheduled',
             'in_progress', 'complete', 'canceled', 'cancelled', 'lost', 'won')`,
  },
];

/** A claim, and how many rows break it. */
export interface ClaimCheck {
  readonly name: string;
  readonly claim: string;
  readonly broken: number;
}

/** A star that is behind is refreshed at most this often before it is checked as it is. */
const maxRefreshes = 3;

/**
 * Begins to read at a moment at which the star has all changes of the warehouse, if there is one.
 * @returns how many changes the star lacks
 */
export async function beginUpToDate(pool: pg.Pool, client: pg.ClientBase): Promise<number> {
  let mayRefresh = true;
  for (let refreshes = 0; ; refreshes++) {
    // All claims read one snapshot: a sweep that ends between two claims breaks none.
    await client.query(
      'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; ' +
        'SET LOCAL statement_timeout = 0',
    );
    const {rows} = await client.query<{waiting: number}>(
      'SELECT waiting::integer FROM mart.freshness',
    );
    const waiting = rows[0]?.waiting ?? 0;
    if (waiting === 0 || refreshes === maxRefreshes || !mayRefresh) return waiting;
    await client.query('ROLLBACK');
    mayRefresh = await refreshIfAllowed(pool);
  }
}

/** @returns false if the login may only read */
async function refreshIfAllowed(pool: pg.Pool): Promise<boolean> {
  try {
    await refreshStar(pool);
    return true;
  } catch (error) {
    const isDenied = error instanceof Error && 'code' in error && error.code === '42501';
    if (!isDenied) throw error;
    return false;
  }
}

/** Checks every claim in the caller's transaction. */
export async function checkClaims(client: pg.ClientBase): Promise<ClaimCheck[]> {
  const ties: ClaimCheck[] = [];
  for (const {name, claim, sql} of tieOuts) {
    const {rows} = await client.query<{count: number}>(
      `SELECT count(*)::integer AS count FROM (${sql}) AS broken`,
    );
    ties.push({name, claim, broken: rows[0]?.count ?? 0});
  }
  return ties;
}
