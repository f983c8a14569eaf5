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

/**
 * Carries many changes, which meet at a step; from there on an author holds the row of the last one
 * to come, and then the push waits for the author.
 */
async function pushBesideAuthor(
  step: PushStep,
  {whileItWaits}: {readonly whileItWaits: () => Promise<void>},
): Promise<void> {
  await place.author("UPDATE warehouse.customers SET fax = '555-0101'");
  const met = Promise.withResolvers<void>();
  let count = 0;
  const pushed = place.push({
    onStep: async (reached, changeId) => {
      if (reached !== step) return;
      count++;
      if (count === many) await hold(changeId).finally(met.resolve);
      await met.promise;
    },
  });
  const waiting = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect
    .poll(async () => (await place.pool.query(waiting)).rowCount, {timeout: 30_000})
    .toBeGreaterThan(0);
  await whileItWaits().finally(() => author.query('COMMIT'));
  expect(await pushed).toMatchObject({rejected: 0, conflict: 0, inDoubt: 0});
}

async function hold(changeId: string): Promise<void> {
  await author.query('BEGIN');
  await author.query(
    `UPDATE warehouse.customers SET fax = '555-0102'
      WHERE row_id = (SELECT row_id FROM sync.changes WHERE change_id = $1)`,
    [changeId],
  );
}

/** How many customers the service shows with each number, once nothing is due any more. */
async function faxes(): Promise<Record<string, number>> {
  await place.rest();
  const shown = place.service.store.list(customerResource, null);
  const byFax = Map.groupBy(shown, ({fields}) => String(fields.fax));
  return Object.fromEntries([...byFax].map(([fax, {length}]) => [fax, length]));
}

test('requests that are noted together hold no change while they wait for one', async () => {
  await pushBesideAuthor('read', {
    whileItWaits: async () => {
      await author.query(
        `SELECT FROM sync.changes JOIN warehouse.customers USING (row_id)
          WHERE state = 'pending' AND customers.fax = '555-0101' FOR UPDATE OF changes NOWAIT`,
      );
    },
  });
  expect(await faxes()).toEqual({'555-0101': many - 1, '555-0102': 1});
});

test('changes that end together hold no row while they wait for one', async () => {
  await pushBesideAuthor('read-back', {
    whileItWaits: async () => {
      await author.query(
        "SELECT FROM warehouse.customers WHERE fax = '555-0101' FOR UPDATE NOWAIT",
      );
    },
  });
  expect(await faxes()).toEqual({'555-0101': many - 1, '555-0102': 1});
});

test('an author who holds a row delays the lease of its change alone', async () => {
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
