// A list that ends at a cap of the service, and says so nowhere:
// docs/decisions/0007-what-certified-means.md.

import {afterEach, describe, expect, test} from 'vitest';
import {allStreams, listReferencingTables} from '../../src/streams/all.ts';
import {listOwnedTables} from '../../src/streams/stream.ts';
import {inPages, openScript, range, type ScriptPlace} from '../labs/adversary-place.ts';
import {job, list, scriptService} from '../support/scripted-service.ts';
import {openWorld} from '../support/world.ts';

let place: ScriptPlace | null = null;

afterEach(async () => {
  await place?.close();
  place = null;
});

const capWords =
  /the list showed 30 records, from \d+ to \d+, and 30 more live outside of these numbers/;

describe.each([
  ['the oldest', range(1, 30)],
  ['the newest', range(31, 60).toReversed()],
])('a list that shows 30 of 60 records, %s', (_, shown) => {
  test('all 60 records are read, and no sweep is certified', async () => {
    place = await openScript([shown]);
    place.script.known = range(1, 60);
    // The second sweep holds them all, and knows no more of the list than the first.
    for (const sweep of ['first', 'second']) {
      expect(await place.sweep(), sweep).toMatchObject({outcome: 'ended', state: 'uncertified'});
      expect(await place.live()).toEqual(range(1, 60));
      expect(await place.reasons()).toEqual([expect.stringMatching(capWords)]);
    }
  });
});

test('a sweep also reads the few records just after the last number of the list', async () => {
  place = await openScript(inPages(range(1, 60), 30));
  place.script.known = range(1, 62);
  expect(await place.sweep()).toMatchObject({state: 'certified'});
  expect(await place.live()).toEqual(range(1, 62));
});

test('a sweep requests customers that jobs name but the list does not show', async () => {
  const keys = (number: number) =>
    `<id type="integer">${number}</id>` +
    `<customer-number type="integer">${number}</customer-number>`;
  const customer = (number: number) =>
    `<customer>${keys(number)}<name>C ${number}</name></customer>`;
  const of = (number: number) =>
    `<customer-id type="integer">${number}</customer-id><customer>${keys(number)}</customer>`;
  // None of the five numbers after the last one is there.
  const alive = [...range(1, 30), ...range(41, 70)];
  const service = await scriptService(({url = '', page}, response) => {
    const {pathname} = new URL(url, 'http://localhost');
    const number = Number(/^\/customers\/(\d+)\.xml$/.exec(pathname)?.[1] ?? 0);
    if (alive.includes(number)) response.end(customer(number));
    else if (page === 1 && pathname === '/customers.xml')
      response.end(list('customers', alive.slice(0, 30).map(customer)));
    else if (page === 1 && pathname === '/jobs.xml')
      response.end(list('jobs', [job(1, of(5)), job(2, of(65))]));
    else return false;
    return true;
  });
  const world = await openWorld(service);
  try {
    await world.sweep('customers');
    expect(await world.sweep('jobs')).toMatchObject({state: 'certified'});
    expect(await world.sweep('customers')).toMatchObject({state: 'uncertified'});
    const {rows} = await world.pool.query(
      `SELECT customer_number::int AS number FROM warehouse.customers WHERE _deleted_at IS NULL
        ORDER BY 1`,
    );
    expect(rows.map(({number}) => number)).toEqual(alive);
    const {rows: sweeps} = await world.pool.query(
      `SELECT evidence->'named' AS named, reasons FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 1`,
    );
    expect(sweeps[0]).toEqual({
      named: {asked: 1, found: 1, gone: 0},
      reasons: [expect.stringMatching(capWords)],
    });
  } finally {
    await world.close();
    await service.close();
  }
});

test('lists every table that names a record of a counted stream', async () => {
  const world = await openWorld({url: 'http://127.0.0.1:1', token: 'none'});
  try {
    for (const stream of allStreams) {
      const {rows} = await world.pool.query<{name: string}>(
        `SELECT table_name AS name FROM information_schema.columns JOIN information_schema.tables
         USING (table_schema, table_name)
          WHERE table_schema = 'warehouse' AND column_name = $1 AND table_type = 'BASE TABLE'`,
        [stream.key],
      );
      const own = [stream.table.name, ...listOwnedTables(stream).map(({table}) => table.name)];
      const expected = stream.isCountedPerAccount
        ? rows.map(({name}) => name).filter((name) => !own.includes(name))
        : [];
      const witnesses = listReferencingTables(stream).map(({name}) => name);
      expect(witnesses.toSorted(), stream.name).toEqual(expected.toSorted());
    }
  } finally {
    await world.close();
  }
});
