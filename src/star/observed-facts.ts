// Facts that come from the versions of a job alone: the events that were seen since the mirror
// began.

import {joinAccount, localDate, type Member} from './member.ts';

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

export const statusChange: Member = {
  name: 'fct_job_status_change',
  comment:
    'One row for each change of state of a job, as it was observed. ' +
    'Two changes between two sweeps are seen as one.',
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
      'observed_in_from_state',
      'change.valid_from - change.from_since',
      'How long the job was seen in the state before.',
    ],
  ],
  from: `FROM (
      SELECT step.*, lag(step.valid_from) OVER (PARTITION BY step.row_id
               ORDER BY step.valid_from) AS from_since
        FROM (
          SELECT version.*, lag(version.state) OVER (PARTITION BY version.row_id
                   ORDER BY version.valid_from) AS from_state
            FROM ${versions} AS version
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
    'Two moves between two sweeps are seen as one.',
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
      'notice',
      'move.from_scheduled_on - move.valid_from',
      'How long before the old appointment the move was seen; negative after it.',
    ],
  ],
  from: `FROM (
      SELECT version.*, lag(version.scheduled_on) OVER (PARTITION BY version.row_id
               ORDER BY version.valid_from) AS from_scheduled_on
        FROM ${versions} AS version
       WHERE version._deleted_at IS NULL
    ) AS move
    ${joinAccount('move')}
    WHERE move.from_scheduled_on IS NOT NULL
      AND move.scheduled_on IS DISTINCT FROM move.from_scheduled_on`,
  key: ['job_key', 'observed_at'],
  isOfVersions: true,
};

const isPaidInFull = 'version.balance_remaining = 0 AND version.invoice_paid_on IS NOT NULL';

export const payment: Member = {
  name: 'fct_payment',
  comment:
    'One row for each step of what was collected of a job. A part payment has no date at the ' +
    'service: the mirror dates it by when the balance was seen to fall. ' +
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
        'to fall) or unknown (a part payment before the mirror).',
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
      SELECT dated.*,
             ${localDate(`CASE dated.dated_by WHEN 'stated' THEN dated.invoice_paid_on
                               WHEN 'observed' THEN dated.valid_from END`)} AS own_date
        FROM (
          SELECT version.*, version.collected - coalesce(version.collected_before, 0) AS amount,
                 version.was_deleted IS DISTINCT FROM version.is_deleted
                   AND version.was_deleted IS NOT NULL AS is_undoing,
                 CASE WHEN ${isPaidInFull} THEN 'stated' WHEN version.collected_before IS NULL
                      THEN 'unknown' ELSE 'observed' END AS dated_by
            FROM (
              SELECT paid.*, lag(paid.collected) OVER (PARTITION BY paid.row_id
                       ORDER BY paid.valid_from) AS collected_before,
                     lag(paid.is_deleted) OVER (PARTITION BY paid.row_id
                       ORDER BY paid.valid_from) AS was_deleted
                FROM (
                  SELECT held.*, held._deleted_at IS NOT NULL AS is_deleted,
                         CASE WHEN held._deleted_at IS NULL
                              THEN coalesce(held.total, 0) - coalesce(held.balance_remaining, 0)
                                ELSE 0 END AS collected
                    FROM ${versions} AS held
                ) AS paid
            ) AS version
        ) AS dated
        ${joinAccount('dated')}
       WHERE dated.amount <> 0
    ) AS step`,
  key: ['job_key', 'observed_at'],
  isOfVersions: true,
};
