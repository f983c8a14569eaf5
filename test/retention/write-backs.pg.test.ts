// An edit and its reading back are one version once another has replaced them, with author, moment
// and change.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {describeWriter, readVersions} from '../../src/explain/record-versions.ts';
import {pushAccount} from '../../src/push/push.ts';
import {pruneHistory} from '../../src/retention/retention.ts';
import {findStream} from '../../src/streams/all.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;
beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  await world.sweep('customers');
});
afterAll(async () => {
  await world?.close();
  await service?.close();
});

const signal = new AbortController().signal;
const pruneNow = async () => await pruneHistory({pool: world.pool, signal, restMs: 0, batch: 1});
const push = async () => await pushAccount(world, world.account.accountId, signal);

async function edit(number: number, fields: string): Promise<void> {
  await world.pool.query(`UPDATE warehouse.customers SET ${fields} WHERE customer_number = $1`, [
    number,
  ]);
  expect(await push()).toMatchObject({done: 1});
}

/** Two hours pass in the history of a customer that is over; the feed no longer names it. */
async function age(): Promise<void> {
  await world.pool.query('DELETE FROM sync.feed_entries');
  await ageHistory();
}

async function ageHistory(): Promise<void> {
  await world.pool.query(
    `UPDATE history.edits SET at = at - interval '2 hours'
      WHERE (row_id, at) IN (SELECT row_id, _changed_at FROM history.past_customers);
     UPDATE history.past_customers SET valid_to = valid_to - interval '2 hours',
       _changed_at = _changed_at - interval '2 hours'`,
  );
}

async function tell(
  number: number,
): Promise<{fax: unknown; by: string; from: string; to: string | null}[]> {
  const {table} = findStream('customers');
  const versions = await readVersions(world.pool, table, {
    accountId: world.account.accountId,
    number: String(number),
  });
  return versions.toReversed().map(({fields, writer, validFrom: from, validTo: to}) => ({
    fax: fields.get('fax'),
    by: describeWriter(writer),
    from,
    to,
  }));
}

test('an edit that was pushed and its read back become one version once replaced', async () => {
  for (const fax of ['555-0101', '555-0102', '555-0103']) await edit(1, `fax = '${fax}'`);
  await age();
  const before = await tell(1);
  expect(before).toHaveLength(7);
  expect(await pruneNow()).toEqual([{kind: 'joined_versions', count: 2}]);
  const after = await tell(1);
  expect(after.map(({fax}) => fax)).toEqual([
    before[0]?.fax,
    '555-0101',
    '555-0102',
    '555-0103',
    '555-0103',
  ]);
  expect(after[1]).toEqual({...before[2], from: before[1]?.from});
  expect(after[1]?.by).toMatch(/^change \d+ \(update customers by \w+, sent .*, answered 200\)$/);
  // The current version, and the edit that it was read back for, wait until they are replaced.
  expect(after.slice(3)).toEqual(before.slice(5));
  for (const [at, {to}] of after.slice(0, 3).entries()) expect(to).toBe(after[at + 1]?.from);
  expect(await pruneNow()).toEqual([]);
});

test('a joined version shows its author even if its change is no longer kept', async () => {
  await world.pool.query('DELETE FROM sync.changes');
  const [, joined] = await tell(1);
  expect(joined?.by).toMatch(
    /^an edit by \w+, brought to the service by change \d+, of which no more is kept$/,
  );
  const {rows} = await world.pool.query(
    `SELECT written_by IS NOT NULL AS told FROM history.customers
     WHERE customer_number = 1 AND fax = '555-0101'`,
  );
  expect(rows).toEqual([{told: true}]);
});

test('an edit that was read back with other values stays two versions', async () => {
  await world.pool.query(
    `UPDATE warehouse.customers SET fax = '555-0104' WHERE customer_number = 2`,
  );
  await world.api.customers.update('2', {email_address: 'elsewhere@example.com'});
  expect(await push()).toMatchObject({done: 1});
  await edit(2, `fax = '555-0105'`);
  await age();
  expect(await pruneNow()).toEqual([]);
});

test('a version is joined only after the feed entry that references it is deleted', async () => {
  for (const fax of ['555-0108', '555-0109']) await edit(4, `fax = '${fax}'`);
  await ageHistory();
  expect(await pruneNow()).toEqual([]);
  await world.pool.query('DELETE FROM sync.feed_entries');
  expect(await pruneNow()).toEqual([{kind: 'joined_versions', count: 1}]);
});

test('a version that was just replaced is not joined yet', async () => {
  await edit(3, `fax = '555-0106'`);
  await edit(3, `fax = '555-0107'`);
  await world.pool.query('DELETE FROM sync.feed_entries');
  expect(await pruneNow()).toEqual([]);
});
