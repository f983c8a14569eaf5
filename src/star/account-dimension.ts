import type {Member} from './member.ts';

/**
 * The certified sweeps of an account that had ended by the moment. Of those that were folded into
 * their day, the first and the last are known: a moment between them counts by the first, so no
 * data look fresher than they were.
 */
const proofs = `(
               SELECT stream, started_at, ended_at FROM sync.sweeps
                WHERE account_id = account.account_id AND mode = 'full' AND state = 'certified' AND ended_at <= {now}
                UNION ALL
               SELECT stream, CASE WHEN last_ended_at <= {now} THEN last_started_at ELSE first_started_at END, first_ended_at FROM sync.sweep_days
                WHERE account_id = account.account_id AND mode = 'full' AND first_ended_at <= {now})`;

/**
 * The zone, the settings and the freshness of an account: readers have no right to `sync.accounts`.
 */
export const account: Member = {
  name: 'dim_account',
  comment: 'One row for each account: its zone, its settings, and how fresh its data is.',
  columns: [
    ['account_key', 'account.account_id', 'Number of the account; every row of the star bears it.'],
    ['name', 'account.name', 'Short name of the account.'],
    [
      'time_zone',
      'account.time_zone',
      'IANA zone of the account: every date of the star is a date there.',
    ],
    [
      'currency',
      'settings.currency',
      'Currency of every amount of the account; null until it is set.',
    ],
    [
      'working_hours',
      'settings.working_hours',
      'Hours that one technician works on Monday to Sunday; null until they are set.',
    ],
    [
      'repeat_visit_days',
      'coalesce(settings.repeat_visit_days, 30)',
      'Within how many days another job of the same kind is a repeat visit.',
    ],
    [
      'on_time_grace_minutes',
      'coalesce(settings.on_time_grace_minutes, 15)',
      'How late a job may begin and still be on time, in minutes.',
    ],
    [
      'today',
      '({now} AT TIME ZONE account.time_zone)::date',
      'The date in the account: the day that ages are counted to.',
    ],
    [
      'known_since',
      'known.since',
      'Since when the mirror knows the account: the first time that jobs, customers and employees were all proven complete. Earlier moments are not known, nor are those whose versions are no longer kept.',
    ],
    [
      'jobs_fresh_as_of',
      'fresh.as_of',
      'When the latest sweep that proved the jobs complete began.',
    ],
  ],
  from: `FROM sync.accounts AS account
    LEFT JOIN mart.settings AS settings ON settings.account_key = account.account_id
    LEFT JOIN LATERAL (
      SELECT CASE WHEN count(*) = 3 THEN greatest(max(first_at), (SELECT pruned_to FROM sync.retention WHERE kind = 'versions')) END AS since
        FROM (SELECT min(proof.ended_at) AS first_at FROM ${proofs} AS proof
               WHERE proof.stream IN ('jobs', 'customers', 'employees') GROUP BY proof.stream) AS streams
    ) AS known ON true
    LEFT JOIN LATERAL (
      SELECT max(proof.started_at) AS as_of FROM ${proofs} AS proof WHERE proof.stream = 'jobs'
    ) AS fresh ON true`,
};
