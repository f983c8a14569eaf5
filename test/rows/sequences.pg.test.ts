// A sequence that is behind its table gives numbers that are taken.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {checkSequences, findSpentSequences} from '../../src/postgres/checks.ts';
import {allTables} from '../../src/streams/all.ts';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());

const found = async () =>
  (await findSpentSequences(world.pool)).map(({sequence, last, highest}) => [
    sequence,
    last,
    highest,
  ]);

test('no sequence is behind if every row got its number from it', async () => {
  await world.author(`INSERT INTO warehouse.customers (name) VALUES ('x')`);
  expect(await found()).toEqual([]);
  await checkSequences(world.pool);
});

test.each(allTables.map(({name}) => name))(
  'a row of %s whose number did not come from the sequence is reported',
  async (name) => {
    const sequence = `warehouse.${name}_row_id_seq`;
    await world.sweep(
      `INSERT INTO warehouse.${name} (row_id, account_id, _sweep_id) OVERRIDING SYSTEM VALUE
        VALUES (9000, $1, 1)`,
      [world.accountId],
    );
    expect(await found()).toContainEqual([sequence, expect.stringMatching(/^[01]$/), '9000']);
    await expect(checkSequences(world.pool)).rejects.toThrow(`SELECT setval('${sequence}', 9000)`);
    await world.author(`SELECT setval('${sequence}', 9000)`);
    await checkSequences(world.pool);
  },
);

test('the number of a deleted row counts, too', async () => {
  await world.sweep('DELETE FROM warehouse.tasks');
  await world.author(`SELECT setval('warehouse.tasks_row_id_seq', 7)`);
  expect(await found()).toEqual([['warehouse.tasks_row_id_seq', '7', '9000']]);
  await world.author(`SELECT setval('warehouse.tasks_row_id_seq', 9000)`);
});

test('every sequence of Fieldmirror is checked', async () => {
  const [{numbers} = {}] = await world.author(
    `SELECT array_agg(oid::regclass::text ORDER BY 1) AS numbers FROM pg_class
      WHERE relkind = 'S' AND relnamespace IN ('warehouse'::regnamespace, 'sync'::regnamespace,
        'history'::regnamespace, 'mart'::regnamespace)
        AND oid::regclass::text NOT LIKE 'sync.migrations%'`,
  );
  for (const name of numbers as string[]) {
    await world.author('SELECT setval($1, 1, false)', [name]);
  }
  const [account] = await found();
  expect(account).toEqual(['sync.accounts_account_id_seq', '0', '1']);
  expect((await found()).length).toBe(allTables.length + 4);
});
