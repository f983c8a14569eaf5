// Rows from which figures are made, with ages in hours.

import type {TelemetryPlace} from './telemetry-place.ts';

interface EndedSweep {
  readonly stream: string;
  readonly state: 'certified' | 'uncertified' | 'stopped' | 'failed' | 'refreshed';
  readonly startedHoursAgo: number;
  readonly endedHoursAgo: number;
  readonly records?: number;
  readonly pages?: number;
}

/** A sweep of the account `acme` that has ended; a window where it is refreshed. */
export async function addSweep({pool, acme}: TelemetryPlace, sweep: EndedSweep): Promise<void> {
  const {stream, state, startedHoursAgo, endedHoursAgo, records = 0, pages = 0} = sweep;
  await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, window_name, state, requested_by,
      started_at, ended_at, records, pages, reasons, error)
     VALUES ($1, $2, CASE $3 WHEN 'refreshed' THEN 'window' ELSE 'full' END,
       CASE $3 WHEN 'refreshed' THEN 'scheduled=today' END, $3, 'schedule',
             now() - $4 * interval '1 hour', now() - $5 * interval '1 hour', $6, $7,
             CASE WHEN $3 IN ('uncertified', 'stopped') THEN ARRAY['a reason'] ELSE '{}' END,
               CASE $3 WHEN 'failed' THEN 'an error' END)`,
    [acme.accountId, stream, state, startedHoursAgo, endedHoursAgo, records, pages],
  );
}

/** A customer of `acme` that was made here, whose change takes these steps one by one. */
export async function addChange(
  {pool, acme}: TelemetryPlace,
  name: string,
  ...steps: readonly string[]
): Promise<void> {
  await pool.query('INSERT INTO warehouse.customers (account_id, name) VALUES ($1, $2)', [
    acme.accountId,
    name,
  ]);
  for (const step of steps)
    await pool.query(
      `UPDATE sync.changes SET ${step} WHERE change_id = (SELECT max(change_id) FROM sync.changes)`,
    );
}

/** A worker that looked for work just now; or some minutes ago. */
export async function addWorker({pool, acme}: TelemetryPlace, seenMinutesAgo = 0): Promise<void> {
  await pool.query(
    `INSERT INTO sync.workers (worker_id, host, pid, version, seen_at, account_ids, key_ids)
     VALUES (gen_random_uuid(), 'dispatch-1', 4711, '0.1.0', now() - $2 * interval '1 minute',
       ARRAY[$1::bigint], '{}')`,
    [acme.accountId, seenMinutesAgo],
  );
}

/** A target that got its only snapshot some hours ago. */
export async function addTarget({pool}: TelemetryPlace, hoursAgo: number): Promise<void> {
  await pool.query(`INSERT INTO sync.delivery_targets (name, place) VALUES ('lake', '/srv/lake')`);
  await pool.query(
    `INSERT INTO sync.snapshots (target, name, known_as_of, delivered_at, sweep_ids, files, rows,
       bytes, manifest_sha256, broken_ties)
     VALUES ('lake', '2026-10-31T031245.123Z', now(), now() - $1 * interval '1 hour', '{}', 23, 100,
       5000, '', '{}')`,
    [hoursAgo],
  );
}

/** A list of the weekly report that was added some hours ago, with a mail that waits. */
export async function addReportList({pool, acme}: TelemetryPlace, hoursAgo: number): Promise<void> {
  await pool.query(
    `INSERT INTO sync.report_lists (name, addresses, weekday, at, added_at)
     VALUES ('owners', '{a@example.org}', 1, '06:00', now() - $1 * interval '1 hour')`,
    [hoursAgo],
  );
  await pool.query(
    `INSERT INTO sync.report_mails (list, account_id, week, address)
     VALUES ('owners', $1, '2026-10-26', 'a@example.org')`,
    [acme.accountId],
  );
}

/**
 * A freshness of an hour that was promised of a stream of `acme`, first asked for ten hours ago,
 * and the looks at its whole list since then, by how many hours ago they began. The latest one has
 * failed.
 */
export async function addPromise(
  {pool, acme}: TelemetryPlace,
  stream: string,
  ...looksHoursAgo: readonly number[]
): Promise<void> {
  await pool.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, window_name, every_ms, next_due_at)
     VALUES ($1, $2 || ' fresh', $2, 'window', 'whole_list', 3600000, now())`,
    [acme.accountId, stream],
  );
  await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, window_name, state, requested_by, due_at,
      started_at, ended_at, error, evidence)
     SELECT $1, $2, 'window', 'whole_list', CASE WHEN at = 0 THEN 'failed' ELSE 'refreshed' END,
       'schedule', now() - interval '10 hours',
            now() - at * interval '1 hour', now() - at * interval '1 hour',
              CASE WHEN at = 0 THEN 'an error' END,
            CASE WHEN at > 0 THEN '{"firstPass": {"endedBy": "empty-page"}}'::jsonb ELSE '{}' END
       FROM unnest($3::float8[]) AS at`,
    [acme.accountId, stream, [...looksHoursAgo, 0]],
  );
}

/** Every kind of row that a figure is made of, for a scrape in which every metric has a series. */
export async function fillWarehouse(place: TelemetryPlace): Promise<void> {
  const {pool, acme} = place;
  const {accountId} = acme;
  await addSweep(place, {
    stream: 'jobs',
    state: 'certified',
    startedHoursAgo: 3,
    endedHoursAgo: 2,
    records: 3_332,
    pages: 113,
  });
  await addChange(place, 'Rosalind Okafor', `requested_at = now() - interval '2 hours'`);
  await addWorker(place);
  await addPromise(place, 'customers', 2);
  await pool.query(`INSERT INTO sync.prunings (ended_at) VALUES (now() - interval '10 minutes')`);
  await pool.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
     VALUES ($1, 'every night, for Rosalind', 'jobs', 'full', 86400000,
       now() + interval '5 hours')`,
    [accountId],
  );
  await addTarget(place, 2);
  await addReportList(place, 2);
  await pool.query('ANALYZE warehouse.customers');
  const answered = {method: 'GET', ms: 80, bodyBytes: 20_000, concurrency: 4};
  place.requests.ended(acme.name, {...answered, result: 200});
  place.requests.ended(acme.name, {...answered, result: 'deadline'});
  place.requests.written(acme.name, 'done');
}
