// Facts of the past. Facts of days are computed from the times of the records, so they reach back
// before the mirror. Facts of events come from the versions of a job alone: the events that were
// seen since the mirror began.

import {accountsSource, joinAccount, localDate, type Member} from './member.ts';

// Few loaders and BI tools read an interval of Postgres.
const hoursOf = (span: string) => `round(extract(epoch FROM ${span}) / 3600, 4)`;

/**
 * The date from which a job is open. For an estimate this is the day on which it was won, or on
 * which work began before that.
 */
export const openedDate = `CASE WHEN job.won_date IS NULL THEN job.booked_date
        ELSE greatest(job.booked_date, least(job.won_date, job.started_date)) END`;

/**
 * The jobs that are or were to be done, each with the days from which and until which it was open.
 * An estimate that was cancelled before it was won is not among them.
 */
export const openSpans = `(
      SELECT job.*, least(${openedDate}, job.closed_date, account.today) AS opened,
             CASE WHEN NOT job.is_open THEN least(job.closed_date, account.today) END AS closed,
             account.today
        FROM {mart.fct_job} AS job JOIN ${accountsSource} ON account.account_key = job.account_key
       WHERE job.is_open OR job.closed_date IS NOT NULL
         AND (job.job_state = 'completed' OR job.job_state = 'cancelled'
           AND (NOT job.was_estimate OR job.won_date IS NOT NULL))
    )`;

export const openJobDay: Member = {
  name: 'fct_open_job_day',
  comment:
    'One row for each job and day on whose end it was open, restated from the times of the job.',
  columns: [
    ['job_key', 'span.job_key', 'The job: fct_job.'],
    ['account_key', 'span.account_key', 'The account: dim_account.'],
    ['date', 'day.date', 'The day: dim_date.'],
    ['job_type_key', 'span.job_type_key', 'The kind of job: dim_job_type.'],
    [
      'age_days',
      'day.date - span.opened',
      'Days since it was booked; of an estimate, since it was won.',
    ],
    ['amount', 'coalesce(span.subtotal, 0)', 'Subtotal of the job, at the price of today.'],
    [
      'state_then',
      `CASE WHEN span.started_date <= day.date THEN 'in_progress'
            WHEN span.scheduled_date IS NOT NULL THEN 'scheduled' ELSE 'unscheduled' END`,
      'in_progress from the day on which it began; before that scheduled, ' +
        'if it has an appointment today, else unscheduled.',
    ],
    [
      'was_overdue',
      `coalesce(span.scheduled_date < day.date
         AND (span.started_date IS NULL OR span.started_date > day.date), false)`,
      'True if its appointment of today had passed and it had not begun.',
    ],
  ],
  from: `FROM ${openSpans} AS span
   CROSS JOIN LATERAL (SELECT span.opened + back AS date
                         FROM generate_series(0,
                           coalesce(span.closed - 1, span.today) - span.opened) AS back) AS day`,
  key: ['job_key', 'date'],
};

export const backlogDay: Member = {
  name: 'fct_backlog_day',
  comment:
    'One row for each account and day since its first job: what was open on its end, ' +
    'what came and what went.',
  columns: [
    ['account_key', 'day.account_key', 'The account: dim_account.'],
    ['date', 'day.date', 'The day: dim_date.'],
    ['open_jobs', 'day.open_jobs::bigint', 'Jobs open on the end of the day.'],
    ['open_amount', 'day.open_amount', 'Subtotals of these, at the prices of today.'],
    ['came', 'day.came', 'Jobs that were booked, and estimates that were won.'],
    ['went', 'day.went', 'Jobs that were completed or cancelled.'],
  ],
  // Sums by day come first, and the days between two of them last, because jobs are many and days
  // are few.
  from: `FROM (
      SELECT step.account_key, step.date + ahead AS date, step.open_jobs, step.open_amount,
             CASE ahead WHEN 0 THEN step.came ELSE 0 END AS came,
             CASE ahead WHEN 0 THEN step.went ELSE 0 END AS went
        FROM (
          SELECT moved.account_key, moved.date, sum(moved.came)::bigint AS came,
                 sum(moved.went)::bigint AS went,
                 sum(sum(moved.came - moved.went)) OVER days AS open_jobs,
                 sum(sum(moved.amount)) OVER days AS open_amount, lead(moved.date) OVER days AS next
            FROM (
              SELECT span.account_key, span.opened AS date, count(*) AS came, 0 AS went,
                     sum(coalesce(span.subtotal, 0)) AS amount
                FROM ${openSpans} AS span GROUP BY span.account_key, span.opened
               UNION ALL
              SELECT span.account_key, span.closed, 0, count(*), -sum(coalesce(span.subtotal, 0))
                FROM ${openSpans} AS span WHERE span.closed IS NOT NULL
               GROUP BY span.account_key, span.closed
            ) AS moved
           GROUP BY moved.account_key, moved.date
          WINDOW days AS (PARTITION BY moved.account_key ORDER BY moved.date)
        ) AS step
        JOIN ${accountsSource} ON account.account_key = step.account_key
       CROSS JOIN LATERAL generate_series(0, coalesce(step.next - 1,
         account.today) - step.date) AS ahead
    ) AS day`,
  key: ['account_key', 'date'],
};

/** How many days after today plans and capacity reach. */
export const daysAhead = 28;

/**
 * The days on which a technician can work, with their hours. They begin on the day the technician
 * was hired, or else first entered hours. For an inactive technician they end with the last hours.
 * If no working hours are set, there are no such days.
 */
const capacityDays = `(
            SELECT account.account_key, employee.employee_key, day.date,
                   CASE WHEN closed.date IS NULL
                        THEN (coalesce(own.working_hours, account.working_hours))[day.weekday]
                          ELSE 0 END AS hours
              FROM (SELECT * FROM {mart.dim_employee} AS known OFFSET 0) AS employee
              JOIN ${accountsSource} ON account.account_key = employee.account_key
              LEFT JOIN mart.capacity AS own ON own.employee_key = employee.employee_key
              LEFT JOIN (
                SELECT entry.employee_key, min(entry.work_date) AS first,
                       max(entry.work_date) AS last
                  FROM {mart.fct_time_entry} AS entry GROUP BY entry.employee_key
              ) AS worked ON worked.employee_key = employee.employee_key
              JOIN mart.dim_date AS day ON day.date BETWEEN coalesce(employee.hired_date,
                worked.first, account.today)
                                                     AND CASE WHEN employee.is_active IS NOT FALSE
                                                       THEN account.today + ${daysAhead}
                                                         ELSE worked.last END
              LEFT JOIN mart.closed_days AS closed ON closed.account_key = account.account_key
               AND closed.date = day.date
             WHERE employee.is_technician
               AND coalesce(own.working_hours, account.working_hours) IS NOT NULL
          )`;

export const employeeDay: Member = {
  name: 'fct_employee_day',
  comment:
    'One row for each employee and day with capacity, plans or hours, ' +
    `up to ${daysAhead} days ahead.`,
  columns: [
    ['employee_key', 'day.employee_key', 'The employee: dim_employee; -1 is no employee.'],
    ['account_key', 'day.account_key', 'The account: dim_account.'],
    ['date', 'day.date', 'The day: dim_date.'],
    [
      'capacity_hours',
      'day.capacity_hours',
      'Hours that the employee works that day; null until working hours are set ' +
        '(mart.settings, mart.capacity).',
    ],
    [
      'planned_hours',
      'day.planned_hours',
      'Planned length of the jobs of that day: the whole of each, for each who is assigned.',
    ],
    ['jobs_planned', 'day.jobs_planned', 'Jobs with an appointment that day.'],
    ['hours', 'day.hours', 'Hours worked.'],
    ['billable_hours', 'day.billable_hours', 'Hours of these that customers pay for.'],
    ['jobs_worked', 'day.jobs_worked', 'Jobs with hours that day.'],
    ['mileage', 'day.mileage', 'Distance driven.'],
  ],
  // A part has null for the figures that it does not provide, which a sum skips at no cost.
  from: `FROM (
      SELECT part.account_key, part.employee_key, part.date,
             sum(part.capacity_hours) AS capacity_hours,
             coalesce(sum(part.planned_hours), 0) AS planned_hours,
             coalesce(sum(part.jobs_planned), 0)::bigint AS jobs_planned,
             coalesce(sum(part.hours), 0) AS hours,
             coalesce(sum(part.billable_hours), 0) AS billable_hours,
             coalesce(sum(part.jobs_worked), 0)::bigint AS jobs_worked,
             coalesce(sum(part.mileage), 0) AS mileage
        FROM (
          SELECT entry.account_key, entry.employee_key, entry.work_date AS date,
                 NULL::numeric AS capacity_hours, NULL::numeric AS planned_hours,
                 NULL::bigint AS jobs_planned, sum(entry.hours) AS hours,
                 sum(entry.billable_hours) AS billable_hours,
                 count(DISTINCT entry.job_key) AS jobs_worked, sum(entry.mileage) AS mileage
            FROM {mart.fct_time_entry} AS entry WHERE entry.work_date IS NOT NULL
           GROUP BY entry.account_key, entry.employee_key, entry.work_date
           UNION ALL
          SELECT job.account_key, held.employee_key, job.scheduled_date, NULL,
                 sum(job.planned_minutes) / 60, count(*), NULL, NULL, NULL, NULL
            FROM {mart.fct_assignment} AS held
            JOIN {mart.fct_job} AS job ON job.job_key = held.job_key
            JOIN ${accountsSource} ON account.account_key = job.account_key
           WHERE job.job_state NOT IN ('cancelled', 'lost', 'estimate')
             AND job.scheduled_date <= account.today + ${daysAhead}
           GROUP BY job.account_key, held.employee_key, job.scheduled_date
           UNION ALL
          SELECT able.account_key, able.employee_key, able.date, able.hours, NULL, NULL, NULL, NULL,
                 NULL, NULL FROM ${capacityDays} AS able
        ) AS part
       GROUP BY part.account_key, part.employee_key, part.date
    ) AS day`,
  key: ['employee_key', 'account_key', 'date'],
};

export const repeatVisit: Member = {
  name: 'fct_repeat_visit',
  comment:
    'One row for each completed job that was not repeated by schedule, ' +
    'with the first job of the same customer and kind that was booked soon after it, ' +
    'and is open or done. What began as an estimate is a sale, and no repeat. ' +
    'A job that was entered after its work was done counts as booked when it was done.',
  columns: [
    ['job_key', 'visit.job_key', 'The completed job: fct_job.'],
    ['account_key', 'visit.account_key', 'The account: dim_account.'],
    ['repeat_job_key', 'visit.repeat_job_key', 'The job that followed: fct_job; null if none did.'],
    ['completed_date', 'visit.completed_date', 'When the job was completed.'],
    ['repeat_booked_date', 'visit.repeat_booked_date', 'When the job that followed was booked.'],
    ['days_until', 'visit.repeat_booked_date - visit.completed_date', 'Days between the two.'],
    ['is_mature', 'visit.is_mature', 'True once the days in which a job may follow have passed.'],
  ],
  // Bookings and completions are in one order, from the last to the first: a completion gets the
  // booking that was passed last. A job that was entered after its work was done counts as booked
  // when it was done; otherwise it would follow itself. If the fact were joined to itself, as of a
  // past moment, it would be computed again for each job.
  from: `FROM (
      SELECT event.job_key, event.account_key, event.completed_date, event.is_completion,
             event.is_mature,
             CASE WHEN event.next_day <= event.last_day AND event.customer_key <> -1
                  THEN event.next[2] END AS repeat_job_key,
             CASE WHEN event.next_day <= event.last_day AND event.customer_key <> -1
                  THEN event.next_day END AS repeat_booked_date
        FROM (
          SELECT passed.*, DATE '2000-01-01' + passed.next[3]::integer AS next_day
            FROM (
              SELECT job.job_key, job.account_key, job.customer_key, job.completed_date,
                     moment.is_completion,
                     job.completed_date + account.repeat_visit_days AS last_day,
                     job.completed_date + account.repeat_visit_days < account.today AS is_mature,
                     min(ARRAY[(extract(epoch FROM job.booked_at) * 1000000)::bigint, job.job_key,
                       job.booked_date - DATE '2000-01-01'])
                       FILTER (WHERE NOT moment.is_completion) OVER (PARTITION BY job.account_key,
                         job.customer_key, job.job_type_key
                                                                     ORDER BY moment.at DESC,
                                                                       moment.is_completion DESC
                                                                         ROWS UNBOUNDED
                                                                           PRECEDING) AS next
                FROM {mart.fct_job} AS job
                JOIN ${accountsSource} ON account.account_key = job.account_key
               CROSS JOIN LATERAL (VALUES (CASE job.job_state WHEN 'completed'
                                                THEN job.completed_at END, true),
                                            (CASE WHEN (job.is_open OR job.job_state = 'completed')
                                              AND NOT job.was_estimate
                                                THEN least(job.booked_at, job.completed_at) END,
                                                false)) AS moment (at, is_completion)
               WHERE NOT job.is_repeated_by_schedule AND moment.at IS NOT NULL
            ) AS passed
        ) AS event
    ) AS visit
   WHERE visit.is_completion`,
};

/**
 * The versions of each job that the service has numbered, in order, with the state that each shows.
 */
const versions = `(
      SELECT held.row_id, held.account_id, held.valid_from, held._deleted_at, held.scheduled_on,
             held.total, held.balance_remaining,
             held.invoice_paid_on, held.completed_on, held.canceled_on, held.won_date,
             held.lost_date, held.started_on, held.updated_at,
             CASE WHEN held._deleted_at IS NOT NULL THEN 'deleted'
                  ELSE mart.job_state(held.status, held.estimate_sent_on, held.scheduled_on,
                    held.started_on, held.completed_on, held.canceled_on,
                                      held.won_date, held.lost_date) END AS state
        FROM history.jobs AS held
       WHERE held.job_number IS NOT NULL
    )`;

const isSamePlan = (one: string, other: string) =>
  `(${one}.scheduled_on IS NOT DISTINCT FROM ${other}.scheduled_on
     AND (${one}._deleted_at IS NULL) = (${other}._deleted_at IS NULL))`;

/**
 * The versions with an appointment or a deletion that an author wrote here and that came to
 * nothing: the record was something else once no edit of it waited any more, or is something else
 * now. A version of a sweep is among them if it kept what the author wanted. One that has what the
 * service sent is not. Only versions with an edit that waits are looked up, by the key of the row.
 */
const withdrawnVersions = `(
      SELECT edit.row_id, edit.valid_from
        FROM history.jobs AS edit
       CROSS JOIN LATERAL (
         SELECT later.scheduled_on, later._deleted_at FROM history.jobs AS later
          WHERE later.row_id = edit.row_id AND later.valid_from > edit.valid_from
          ORDER BY later._pending NULLS FIRST,
                   CASE WHEN later._pending THEN later.valid_to END DESC NULLS FIRST,
                   later.valid_from LIMIT 1
       ) AS outcome
       CROSS JOIN LATERAL (
         SELECT first._pending AND num_nonnulls(first._sweep_id, first._change_id) = 0 AS is_edit
           FROM history.jobs AS first
          WHERE first.row_id = edit.row_id AND first.valid_from <= edit.valid_from
            AND ${isSamePlan('first', 'edit')}
            AND NOT EXISTS (SELECT FROM history.jobs AS settled
                             WHERE settled.row_id = edit.row_id AND settled._pending IS NOT TRUE
                               AND settled.valid_from > first.valid_from
                               AND settled.valid_from < edit.valid_from)
          ORDER BY first.valid_from LIMIT 1
       ) AS origin
       WHERE edit._pending AND origin.is_edit AND NOT ${isSamePlan('edit', 'outcome')}
    )`;

// A list that is hashed: Postgres cannot know how many edits came to nothing, and would otherwise
// choose a join that reads them again for each version.
const isWithdrawn = `(version.row_id, version.valid_from) IN (SELECT withdrawn.row_id,
         withdrawn.valid_from FROM ${withdrawnVersions} AS withdrawn)`;

/** The states that an appointment or a deletion decides. */
const plannedStates = `'deleted', 'estimate', 'scheduled', 'unscheduled'`;

export const statusChange: Member = {
  name: 'fct_job_status_change',
  comment:
    'One row for each change of state of a job, as it was observed. ' +
    'Two changes between two sweeps are seen as one. An edit of the warehouse counts once it is ' +
    'written, and no longer if it never reaches the service.',
  columns: [
    ['job_key', 'change.row_id', 'The job: fct_job, unless it was deleted.'],
    ['account_key', 'change.account_id', 'The account: dim_account.'],
    ['observed_at', 'change.valid_from', 'When the change was seen.'],
    [
      'from_state',
      'change.from_state',
      'The state before: dim_job_state, or deleted; null if the job was seen for the first time.',
    ],
    ['to_state', 'change.state', 'The state after: dim_job_state, or deleted.'],
    ['is_first_seen', 'change.from_state IS NULL', 'True if the job was seen for the first time.'],
    [
      'stated_at',
      `least(change.valid_from, CASE change.state WHEN 'completed'
                                     THEN coalesce(change.completed_on, change.updated_at)
          WHEN 'cancelled' THEN coalesce(change.canceled_on, change.updated_at) WHEN 'lost'
            THEN coalesce(change.lost_date, change.updated_at)
          WHEN 'in_progress' THEN coalesce(change.started_on, change.updated_at) WHEN 'deleted'
            THEN NULL ELSE change.updated_at END)`,
      'When the record itself says that it happened, never later than it was seen.',
    ],
    [
      'hours_in_from_state',
      hoursOf('change.valid_from - change.from_since'),
      'Hours for which the job was seen in the state before.',
    ],
  ],
  from: `FROM (
      SELECT step.*, lag(step.valid_from) OVER (PARTITION BY step.row_id
               ORDER BY step.valid_from) AS from_since
        FROM (
          SELECT version.*, lag(version.state) OVER (PARTITION BY version.row_id
                   ORDER BY version.valid_from) AS from_state
            FROM ${versions} AS version
           WHERE version.state NOT IN (${plannedStates}) OR NOT (${isWithdrawn})
        ) AS step
       WHERE step.state IS DISTINCT FROM step.from_state
    ) AS change`,
  key: ['job_key', 'observed_at'],
  isOfVersions: true,
};

export const reschedule: Member = {
  name: 'fct_reschedule',
  comment:
    'One row for each move of an appointment, as it was observed. ' +
    'Two moves between two sweeps are seen as one. An edit of the warehouse counts once it is ' +
    'written, and no longer if it never reaches the service.',
  columns: [
    ['job_key', 'move.row_id', 'The job: fct_job, unless it was deleted.'],
    ['account_key', 'move.account_id', 'The account: dim_account.'],
    ['observed_at', 'move.valid_from', 'When the move was seen.'],
    ['from_scheduled_at', 'move.from_scheduled_on', 'When the work was to begin before.'],
    [
      'to_scheduled_at',
      'move.scheduled_on',
      'When it is to begin after; null if it is no longer scheduled.',
    ],
    ['from_date', localDate('move.from_scheduled_on'), 'Date of from_scheduled_at.'],
    ['to_date', localDate('move.scheduled_on'), 'Date of to_scheduled_at.'],
    [
      'notice_hours',
      hoursOf('move.from_scheduled_on - move.valid_from'),
      'Hours from when the move was seen to the old appointment; negative after it.',
    ],
  ],
  from: `FROM (
      SELECT version.*, lag(version.scheduled_on) OVER (PARTITION BY version.row_id
               ORDER BY version.valid_from) AS from_scheduled_on
        FROM ${versions} AS version
       WHERE version._deleted_at IS NULL AND NOT (${isWithdrawn})
    ) AS move
    ${joinAccount('move')}
    WHERE move.from_scheduled_on IS NOT NULL
      AND move.scheduled_on IS DISTINCT FROM move.from_scheduled_on`,
  key: ['job_key', 'observed_at'],
  isOfVersions: true,
};

const isPaidInFull = 'paid.balance_remaining = 0 AND paid.invoice_paid_on IS NOT NULL';

export const payment: Member = {
  name: 'fct_payment',
  comment:
    'One row for each step of what was collected of a job. A part payment has no date at the ' +
    'service: the mirror dates it by when it was seen. ' +
    'A job that is deleted takes its money back.',
  columns: [
    ['job_key', 'step.row_id', 'The job: fct_job, unless it was deleted.'],
    ['account_key', 'step.account_id', 'The account: dim_account.'],
    ['observed_at', 'step.valid_from', 'When the step was seen.'],
    ['amount', 'step.amount', 'By how much the collected amount rose; negative if it fell.'],
    [
      'dated_by',
      'step.dated_by',
      'stated (paid in full, by the date of the invoice), observed (when the balance was seen ' +
        'to fall, or when a job with a part payment was first seen, if the mirror knew the ' +
        'account by then) or unknown (a part payment before the mirror).',
    ],
    [
      'paid_date',
      // A step that takes money back, or brings it back, has the date of the step that it undoes.
      `CASE WHEN step.is_undoing THEN max(CASE WHEN NOT step.is_undoing THEN step.own_date END)
             OVER (PARTITION BY step.row_id ORDER BY step.valid_from ROWS UNBOUNDED PRECEDING)
               ELSE step.own_date END`,
      'The date that the amount counts on; null if it is unknown.',
    ],
  ],
  from: `FROM (
      SELECT paid.*, basis.dated_by,
             ${localDate(`CASE basis.dated_by WHEN 'stated' THEN paid.invoice_paid_on
                               WHEN 'observed' THEN paid.valid_from END`)} AS own_date
        FROM (
          SELECT version.*, version.collected - coalesce(version.collected_before, 0) AS amount,
                 version.was_deleted IS DISTINCT FROM version.is_deleted
                   AND version.was_deleted IS NOT NULL AS is_undoing
            FROM (
              SELECT due.*, lag(due.collected) OVER (PARTITION BY due.row_id
                       ORDER BY due.valid_from) AS collected_before,
                     lag(due.is_deleted) OVER (PARTITION BY due.row_id
                       ORDER BY due.valid_from) AS was_deleted
                FROM (
                  SELECT held.*, held._deleted_at IS NOT NULL AS is_deleted,
                         CASE WHEN held._deleted_at IS NULL
                              THEN coalesce(held.total, 0) - coalesce(held.balance_remaining, 0)
                                ELSE 0 END AS collected
                    FROM ${versions} AS held
                ) AS due
            ) AS version
        ) AS paid
        JOIN ${accountsSource} ON account.account_key = paid.account_id
       CROSS JOIN LATERAL (
         SELECT CASE WHEN ${isPaidInFull} THEN 'stated'
                     WHEN paid.collected_before IS NOT NULL
                       OR paid.valid_from > account.known_since THEN 'observed'
                     ELSE 'unknown' END AS dated_by
       ) AS basis
       WHERE paid.amount <> 0
    ) AS step`,
  key: ['job_key', 'observed_at'],
  isOfVersions: true,
};
