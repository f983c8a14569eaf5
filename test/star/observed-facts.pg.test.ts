// The facts that are made from the versions of a job: payments, changes of state and moves of
// appointments. The versions are those of sweeps and of edits, one after another.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  await world.author('DELETE FROM sync.sweeps');
});

/** From now on the mirror knows the account. */
const proveAll = () =>
  world.author(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
     SELECT account_id, stream, 'full', 'command', 'certified', clock_timestamp(),
            clock_timestamp()
       FROM sync.accounts CROSS JOIN unnest(ARRAY['jobs', 'customers', 'employees']) AS stream`,
  );

describe('a part payment of a job', () => {
  const payments = (jobKey: string) =>
    world.author(
      `SELECT amount::float, dated_by, paid_date = account.today AS "isOfToday"
         FROM mart.fct_payment AS step JOIN mart.dim_account AS account USING (account_key)
        WHERE job_key = $1 ORDER BY observed_at`,
      [jobKey],
    );
  const owing = {job_number: '7', total: 100, balance_remaining: 70};

  test('that was first seen before the mirror knew the account has no date', async () => {
    const jobKey = await world.sent('jobs', owing);
    await proveAll();
    expect(await payments(jobKey)).toEqual([{amount: 30, dated_by: 'unknown', isOfToday: null}]);
  });

  test('that was first seen after that is dated by the day on which it was seen', async () => {
    await proveAll();
    const jobKey = await world.sent('jobs', owing);
    expect(await payments(jobKey)).toEqual([{amount: 30, dated_by: 'observed', isOfToday: true}]);
    const [{collected} = {}] = await world.author(
      'SELECT sum(collected)::float AS collected FROM mart.ask_collected',
    );
    expect(collected).toBe(30);
  });

  test('has no date in an account that the mirror does not know yet', async () => {
    const jobKey = await world.sent('jobs', owing);
    expect(await payments(jobKey)).toEqual([{amount: 30, dated_by: 'unknown', isOfToday: null}]);
  });
});

describe('an edit of an appointment', () => {
  const [first, second, third] = ['2026-12-01', '2026-12-02', '2026-12-03'].map(
    (day) => `${day}T15:00:00+00:00`,
  );
  const moves = async (jobKey: string) =>
    (
      await world.author(
        `SELECT concat_ws(' ', from_date, to_date) AS move, observed_at FROM mart.fct_reschedule
          WHERE job_key = $1 ORDER BY observed_at`,
        [jobKey],
      )
    ).map(({move}) => move);
  const states = async (jobKey: string) =>
    (
      await world.author(
        `SELECT to_state FROM mart.fct_job_status_change WHERE job_key = $1 ORDER BY observed_at`,
        [jobKey],
      )
    ).map(({to_state}) => to_state);
  const sendJob = () =>
    world.sent('jobs', {
      job_number: '7',
      name: 'a',
      status: 'new',
      scheduled_on: first,
      won_date: first,
    });
  const plan = (at: string | null | undefined) =>
    world.author('UPDATE warehouse.jobs SET scheduled_on = $1', [at]);
  const closeLast = (state: string) =>
    world.author(
      `SELECT sync.close_change((SELECT max(change_id) FROM sync.changes WHERE is_open), $1, 'no')`,
      [state],
    );
  /** The change is done, and the record is read back. */
  const finish = () =>
    world.sweep(
      `WITH done AS (UPDATE sync.changes SET state = 'done', settled_at = now() WHERE is_open)
       UPDATE warehouse.jobs SET _change_id = 1, _sweep_id = NULL, _pending = NULL`,
    );
  const sweep = (set: string, values: unknown[] = []) =>
    world.sweep(`UPDATE warehouse.jobs SET _sweep_id = 2, ${set}`, values);

  test.each(['cancelled', 'rejected'])('that was %s is no move', async (state) => {
    const jobKey = await sendJob();
    await plan(second);
    expect(await moves(jobKey)).toEqual(['2026-12-01 2026-12-02']);
    await closeLast(state);
    expect(await moves(jobKey)).toEqual([]);
    await sweep(`name = 'b'`);
    expect(await moves(jobKey)).toEqual([]);
  });

  test('that was taken back by its author is no move', async () => {
    const jobKey = await sendJob();
    await plan(second);
    await plan(first);
    expect(await moves(jobKey)).toEqual([]);
  });

  test('that removed the appointment and was cancelled is no change of state', async () => {
    const jobKey = await sendJob();
    await plan(null);
    expect(await states(jobKey)).toEqual(['scheduled', 'unscheduled']);
    await closeLast('cancelled');
    expect(await states(jobKey)).toEqual(['scheduled']);
  });

  test('that reached the service is a move at the time of the edit', async () => {
    const jobKey = await sendJob();
    await plan(second);
    const seen = () => world.author('SELECT observed_at, to_date FROM mart.fct_reschedule');
    const edited = await seen();
    await finish();
    expect(await moves(jobKey)).toEqual(['2026-12-01 2026-12-02']);
    expect(await seen()).toEqual(edited);
  });

  test('that another edit replaced before it was sent is one move', async () => {
    const jobKey = await sendJob();
    await plan(second);
    await plan(third);
    expect(await moves(jobKey)).toEqual(['2026-12-01 2026-12-03']);
    await finish();
    expect(await moves(jobKey)).toEqual(['2026-12-01 2026-12-03']);
  });

  test('that was cancelled hides no change that a sweep brought meanwhile', async () => {
    const jobKey = await sendJob();
    await plan(second);
    await sweep('started_on = $1', [first]);
    const begun = await world.author(
      `SELECT observed_at FROM mart.fct_job_status_change WHERE to_state = 'in_progress'`,
    );
    await closeLast('cancelled');
    expect(await states(jobKey)).toEqual(['scheduled', 'in_progress']);
    expect(
      await world.author(
        `SELECT observed_at FROM mart.fct_job_status_change WHERE to_state = 'in_progress'`,
      ),
    ).toEqual(begun);
    expect(await moves(jobKey)).toEqual([]);
  });

  test('of another column hides no move that sweeps bring while it waits', async () => {
    const jobKey = await sendJob();
    await world.author(`UPDATE warehouse.jobs SET name = 'b'`);
    await sweep('scheduled_on = $1', [second]);
    await sweep('scheduled_on = $1', [third]);
    await finish();
    expect(await moves(jobKey)).toEqual(['2026-12-01 2026-12-02', '2026-12-02 2026-12-03']);
  });

  test('a deletion that was cancelled is no change of state', async () => {
    const jobKey = await sendJob();
    await world.author('DELETE FROM warehouse.jobs');
    expect(await states(jobKey)).toEqual(['scheduled', 'deleted']);
    await closeLast('cancelled');
    expect(await states(jobKey)).toEqual(['scheduled']);
  });
});

test('a move counts as on short notice within the day before the appointment alone', async () => {
  await proveAll();
  for (const [at, hours] of [-1, 2, 23, 25].entries())
    await world.sent('jobs', {
      job_number: String(at + 1),
      scheduled_on: new Date(Date.now() + hours * 3_600_000).toISOString(),
    });
  await world.sweep(
    `UPDATE warehouse.jobs SET _sweep_id = 2, scheduled_on = scheduled_on + interval '9 days'`,
  );
  expect(
    await world.author('SELECT moved::integer, on_short_notice::integer FROM mart.ask_reschedules'),
  ).toEqual([{moved: 4, on_short_notice: 2}]);
  const moves = await world.author(
    'SELECT round(notice_hours)::integer AS hours FROM mart.fct_reschedule ORDER BY 1',
  );
  expect(moves.map(({hours}) => hours)).toEqual([-1, 2, 23, 25]);
});

test('a change of state has the hours since the change before', async () => {
  const jobKey = await world.sent('jobs', {job_number: '1'});
  await world.sweep(`UPDATE warehouse.jobs SET _sweep_id = 2, completed_on = now()`);
  const [step] = await world.author(
    `SELECT hours_in_from_state::float AS hours,
            extract(epoch FROM observed_at - lag(observed_at) OVER (ORDER BY observed_at))::float
              / 3600 AS between
       FROM mart.fct_job_status_change WHERE job_key = $1 ORDER BY observed_at DESC LIMIT 1`,
    [jobKey],
  );
  expect(step?.hours).toBeCloseTo(Number(step?.between), 4);
});

test('no column of the star is an interval, which few loaders and BI tools read', async () => {
  const found = await world.author(
    `SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema IN ('warehouse', 'history', 'mart', 'masked') AND data_type = 'interval'`,
  );
  expect(found).toEqual([]);
});
