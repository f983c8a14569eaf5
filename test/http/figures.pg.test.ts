import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {pauseAccount} from '../../src/accounts/accounts.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {type Exposition, figureOf} from './exposition.ts';
import {openTelemetry, type TelemetryPlace} from './telemetry-place.ts';
import {
  addChange,
  addPromise,
  addReportList,
  addSweep,
  addTarget,
  addWorker,
} from './telemetry-rows.ts';

let place: TelemetryPlace;
beforeEach(async () => {
  place = await openTelemetry();
});
afterEach(() => place.close());

const jobs = {account: 'acme', stream: 'jobs'} as const;

/** An age, in whole hours. */
const hours = (told: Exposition, metric: string, labels: Readonly<Record<string, string>> = {}) =>
  Math.round((figureOf(told, metric, labels) ?? Number.NaN) / 3_600);

/** The words for which a metric of one series each says 1. */
const wordsOf = (told: Exposition, metric: string, label: string) =>
  told
    .get(metric)
    ?.lines.flatMap(({labels, value}) =>
      value === 1 ? [`${labels.account} ${labels[label]}`] : [],
    );

describe('is the data fresh?', () => {
  test('a stream is as old as the start of its last certified sweep', async () => {
    await addSweep(place, {
      stream: 'jobs',
      state: 'certified',
      startedHoursAgo: 50,
      endedHoursAgo: 49,
    });
    await addSweep(place, {
      stream: 'jobs',
      state: 'certified',
      startedHoursAgo: 30,
      endedHoursAgo: 28,
    });
    await addSweep(place, {
      stream: 'jobs',
      state: 'uncertified',
      startedHoursAgo: 7,
      endedHoursAgo: 4,
    });
    await addSweep(place, {
      stream: 'jobs',
      state: 'refreshed',
      startedHoursAgo: 2,
      endedHoursAgo: 1,
    });
    const told = await place.scrape();
    expect(hours(told, 'fieldmirror_stream_proven_age_seconds', jobs)).toBe(30);
    expect(hours(told, 'fieldmirror_full_sweep_age_seconds', jobs)).toBe(4);
    expect(hours(told, 'fieldmirror_full_sweep_duration_seconds', jobs)).toBe(3);
    expect(wordsOf(told, 'fieldmirror_full_sweep_state', 'state')).toEqual(['acme uncertified']);
    expect(figureOf(told, 'fieldmirror_stream_unproven', jobs)).toBe(0);
  });

  test('a promised freshness is reported with the age of the last whole list', async () => {
    const promised = 'fieldmirror_stream_promised_freshness_seconds';
    const age = 'fieldmirror_stream_whole_list_age_seconds';
    expect((await place.scrape()).get(promised)?.lines).toEqual([]);
    await addPromise(place, 'customers', 5, 3);
    await addPromise(place, 'tasks');
    place.pass();
    const told = await place.scrape();
    const [customers = {}, tasks = {}] = ['customers', 'tasks'].map((stream) => ({
      account: 'acme',
      stream,
    }));
    expect([hours(told, promised, customers), hours(told, age, customers)]).toEqual([1, 3]);
    expect([hours(told, promised, tasks), hours(told, age, tasks)]).toEqual([1, 10]);
    expect(told.get(age)?.lines).toHaveLength(2);
  });

  test('a stream that was never proven has no age, and is reported as unproven', async () => {
    await addSweep(place, {stream: 'jobs', state: 'failed', startedHoursAgo: 2, endedHoursAgo: 1});
    const told = await place.scrape();
    expect(told.get('fieldmirror_stream_proven_age_seconds')?.lines).toEqual([]);
    expect(figureOf(told, 'fieldmirror_stream_unproven', jobs)).toBe(1);
    expect(
      figureOf(told, 'fieldmirror_stream_unproven', {account: 'other "quoted"', stream: 'tasks'}),
    ).toBe(1);
  });

  test('each account is in one state', async () => {
    await pauseAccount(place.pool, place.other.accountId, 'winter');
    const told = await place.scrape();
    expect(wordsOf(told, 'fieldmirror_account_state', 'state')).toEqual([
      'acme active',
      'other "quoted" paused',
    ]);
  });

  test('the wait of the star is counted from its oldest change', async () => {
    expect(figureOf(await place.scrape(), 'fieldmirror_star_wait_seconds')).toBe(0);
    await place.pool.query(
      `INSERT INTO sync.stale_jobs (account_id, job_numbers, noted_at)
        VALUES ($1, '{1}', now() - interval '5 hours')`,
      [place.acme.accountId],
    );
    expect(hours(await place.scrape(), 'fieldmirror_star_wait_seconds')).toBe(5);
  });
});

test('a delivery target has the age of its last snapshot and a count of failures', async () => {
  await addTarget(place, 3);
  await place.pool.query('UPDATE sync.delivery_targets SET attempts = 2');
  const told = await place.scrape();
  const lake = {target: 'lake'};
  expect(hours(told, 'fieldmirror_delivery_age_seconds', lake)).toBe(3);
  expect(figureOf(told, 'fieldmirror_delivery_failures', lake)).toBe(2);
  expect(figureOf(told, 'fieldmirror_delivery_bytes', lake)).toBe(5000);
});

test('a report list has the age of its last report and a count of unsent reports', async () => {
  await addReportList(place, 5);
  const owners = {list: 'owners'};
  const waiting = await place.scrape();
  expect(hours(waiting, 'fieldmirror_report_age_seconds', owners)).toBe(5);
  expect(figureOf(waiting, 'fieldmirror_reports_unsent', owners)).toBe(1);
  await place.pool.query(
    `UPDATE sync.report_mails SET state = 'sent', sent_at = now() - interval '1 hour'`,
  );
  place.pass();
  const sent = await place.scrape();
  expect(hours(sent, 'fieldmirror_report_age_seconds', owners)).toBe(1);
  expect(figureOf(sent, 'fieldmirror_reports_unsent', owners)).toBe(0);
});

describe('did the schedule fire?', () => {
  const schedule = (name: string, mode: 'full' | 'window', dueInHours: number) =>
    place.pool.query(
      `INSERT INTO sync.schedules (account_id, name, stream, mode, window_name, every_ms,
        next_due_at)
       VALUES ($1, $2, 'jobs', $3, CASE $3 WHEN 'window' THEN $2 END, 3600000,
         now() + $4 * interval '1 hour')`,
      [place.acme.accountId, name, mode, dueInHours],
    );

  test('a stream is as overdue as its most overdue schedule, and 0 s if none is due', async () => {
    await schedule('nightly', 'full', 6);
    await schedule('scheduled=today', 'window', -3);
    await schedule('scheduled=tomorrow', 'window', -9);
    const told = await place.scrape();
    expect(hours(told, 'fieldmirror_schedule_overdue_seconds', {...jobs, mode: 'window'})).toBe(9);
    expect(figureOf(told, 'fieldmirror_schedule_overdue_seconds', {...jobs, mode: 'full'})).toBe(0);
    const next = figureOf(told, 'fieldmirror_schedule_next_due_timestamp_seconds', {
      ...jobs,
      mode: 'full',
    });
    expect(Math.round(((next ?? 0) - Date.now() / 1_000) / 3_600)).toBe(6);
  });

  test('a worker that was not seen for a minute is not alive', async () => {
    expect(figureOf(await place.scrape(), 'fieldmirror_workers_alive')).toBe(0);
    await addWorker(place);
    await addWorker(place);
    await addWorker(place, 2);
    expect(figureOf(await place.scrape(), 'fieldmirror_workers_alive')).toBe(2);
  });
});

describe('is the load healthy?', () => {
  test('records and pages are those of the last full sweep', async () => {
    const past = {stream: 'jobs', state: 'certified'} as const;
    await addSweep(place, {...past, startedHoursAgo: 9, endedHoursAgo: 8, records: 7, pages: 1});
    await addSweep(place, {
      ...past,
      startedHoursAgo: 2,
      endedHoursAgo: 1,
      records: 3_332,
      pages: 113,
    });
    const told = await place.scrape();
    expect(figureOf(told, 'fieldmirror_full_sweep_records', jobs)).toBe(3_332);
    expect(figureOf(told, 'fieldmirror_full_sweep_pages', jobs)).toBe(113);
  });

  test('open sweeps are counted by state, and records in quarantine by stream', async () => {
    const {accountId} = place.acme;
    await requestSweep(place.pool, {
      accountId,
      stream: 'jobs',
      mode: 'full',
      requestedBy: 'command',
    });
    await place.pool.query(
      `INSERT INTO sync.quarantine (account_id, stream, number, reason, xml, xml_hash, resolved_at)
       SELECT $1, 'jobs', number, 'no date', '<job/>', '\\x00', CASE WHEN number = 3 THEN now() END
       FROM generate_series(1, 3) AS number`,
      [accountId],
    );
    const told = await place.scrape();
    expect(figureOf(told, 'fieldmirror_sweeps_unfinished', {...jobs, state: 'due'})).toBe(1);
    expect(figureOf(told, 'fieldmirror_sweeps_unfinished', {...jobs, state: 'running'})).toBe(0);
    expect(figureOf(told, 'fieldmirror_quarantine_records', jobs)).toBe(2);
    expect(
      figureOf(told, 'fieldmirror_quarantine_records', {account: 'acme', stream: 'tasks'}),
    ).toBe(0);
  });

  test('the rows of a table are the estimate of Postgres, and no table is counted', async () => {
    const customers = {schema: 'warehouse', table: 'customers'};
    await addChange(place, 'Rosalind Okafor');
    expect(figureOf(await place.scrape(), 'fieldmirror_table_rows', customers)).toBeUndefined();
    await place.pool.query('ANALYZE warehouse.customers');
    await addChange(place, 'Tobias Lindqvist');
    const told = await place.scrape();
    expect(figureOf(told, 'fieldmirror_table_rows', customers)).toBe(1);
    const bytes = figureOf(told, 'fieldmirror_table_bytes', customers) ?? 0;
    expect(bytes).toBeGreaterThan(0);
    expect(figureOf(told, 'fieldmirror_database_bytes')).toBeGreaterThan(bytes);
  });
});

describe('is the write-back flowing?', () => {
  test('open changes are counted by state with the oldest age, late ones by reason', async () => {
    await addChange(place, 'Rosalind Okafor', `requested_at = now() - interval '2 hours'`);
    await addChange(place, 'Tobias Lindqvist', `requested_at = now() - interval '7 hours'`);
    await addChange(place, 'Mei Castellanos', `state = 'conflict', reason = 'several match'`);
    const told = await place.scrape();
    const open = (state: string) =>
      figureOf(told, 'fieldmirror_changes_open', {account: 'acme', state});
    expect([open('pending'), open('conflict'), open('held')]).toEqual([2, 1, 0]);
    const pending = {account: 'acme', state: 'pending'};
    expect(hours(told, 'fieldmirror_changes_oldest_age_seconds', pending)).toBe(7);
    const held = {account: 'acme', state: 'held'};
    expect(figureOf(told, 'fieldmirror_changes_oldest_age_seconds', held)).toBeUndefined();
    const late = (reason: string) =>
      figureOf(told, 'fieldmirror_changes_late', {account: 'acme', reason});
    expect([late('conflict'), late('untaken')]).toEqual([1, 0]);
  });
});

describe('has the source changed shape?', () => {
  test('changes of fields are counted by kind, and a kind without any is 0', async () => {
    await place.pool.query(
      `INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id)
       SELECT $1, 'jobs', 'gate_code', kind, 'x', 1
       FROM unnest(ARRAY['new', 'vanished', 'vanished']) AS kind`,
      [place.acme.accountId],
    );
    const told = await place.scrape();
    const events = (account: string, kind: string) =>
      figureOf(told, 'fieldmirror_field_events_total', {account, kind});
    expect([events('acme', 'new'), events('acme', 'vanished'), events('acme', 'retyped')]).toEqual([
      1, 2, 0,
    ]);
    expect(events('other "quoted"', 'vanished')).toBe(0);
    expect((await place.scrape()).get('fieldmirror_field_events_total')).toEqual(
      told.get('fieldmirror_field_events_total'),
    );
  });
});
