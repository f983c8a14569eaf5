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
