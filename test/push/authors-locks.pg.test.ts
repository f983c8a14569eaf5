// An author's statement that writes many rows locks them in an order of its own, and an author may
// leave a transaction open. A push that locked some rows together, and waited for one more, could
// make the author the loser of a deadlock, or stand still.

import pg from 'pg';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {claimChanges, renewClaims} from '../../src/changes/claim-changes.ts';
import type {PushStep} from '../../src/push/run.ts';
import {customerResource} from '../../src/service/resource.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

const many = 40;
let place: ScriptedPlace;
let author: pg.Client;

beforeEach(async () => {
  place = await openScriptedPlace();
  await allowLargeEdits(place.pool);
  await place.author(
    "INSERT INTO warehouse.customers (name) SELECT 'Customer ' || n " +
      `FROM generate_series(1, ${many}) AS n`,
  );
  await place.rest();
  author = new pg.Client({connectionString: place.url});
  await author.connect();
});
afterEach(async () => {
  await author.end();
  await place.close();
});

async function hold(changeId: string): Promise<void> {
  await author.query('BEGIN');
  await author.query(
    `UPDATE warehouse.customers SET fax = '555-0102'
      WHERE row_id = (SELECT row_id FROM sync.changes WHERE change_id = $1)`,
    [changeId],
  );
}

const count = async (sql: string) => (await place.pool.query(sql)).rowCount;
const waiting = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;
const done = "SELECT FROM sync.changes WHERE operation = 'update' AND state = 'done'";

test.each<[PushStep, string, number]>([
  ['read', 'first', 0],
  ['read', 'last', many - 1],
  ['read-back', 'first', 0],
  ['read-back', 'last', many - 1],
])(
  'an author who locks a row at "%s" of the %s change delays only that change, and never waits',
  async (step, _, at) => {
    await place.author("UPDATE warehouse.customers SET fax = '555-0101'");
    // All changes meet at the step, so that they go on together.
    const met = Promise.withResolvers<void>();
    const came: string[] = [];
    const pushed = place.push({
      onStep: async (reached, changeId) => {
        if (reached !== step) return;
        came.push(changeId);
        if (came.length === many) await hold(String(came[at])).finally(met.resolve);
        await met.promise;
      },
    });
    await expect.poll(async () => await count(done), {timeout: 30_000}).toBe(many - 1);
    await expect.poll(async () => await count(waiting), {timeout: 30_000}).toBeGreaterThan(0);
    await author.query("SELECT FROM warehouse.customers WHERE fax = '555-0101' FOR UPDATE NOWAIT");
    await author.query('COMMIT');
    expect(await pushed).toMatchObject({rejected: 0, conflict: 0, inDoubt: 0});
    await place.rest();
    const shown = place.service.store.list(customerResource, null).map(({fields}) => fields.fax);
    expect(shown.filter((fax) => fax === '555-0101')).toHaveLength(many - 1);
    expect(shown.filter((fax) => fax === '555-0102')).toHaveLength(1);
  },
);

test('an author who locks a row delays only the lease renewal of its change', async () => {
  await place.author("UPDATE warehouse.customers SET fax = '555-0101'");
  const terms = {limit: 3, leaseMs: 60_000};
  const claimed = await claimChanges(place.pool, place.accountId, terms);
  const [first, second, third] = claimed.map(({changeId}) => changeId);
  await hold(String(second));
  const renewed = await renewClaims(place.pool, claimed, 120_000);
  await author.query('ROLLBACK');
  expect(renewed).toEqual([true, null, true]);
  const {rows} = await place.pool.query(
    `SELECT change_id AS "changeId" FROM sync.changes
      WHERE lease_until > now() + interval '1 minute' ORDER BY change_id`,
  );
  expect(rows).toEqual([{changeId: first}, {changeId: third}]);
});
