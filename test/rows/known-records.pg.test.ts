import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {probeKnown, rememberKnown} from '../../src/rows/held-rows.ts';
import {loadRows} from '../../src/rows/load.ts';
import {hashOf, machines, openWorld, parts, rowOf, type World} from '../support/sample.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({keepsHistory: true});
});
afterAll(() => world?.close());

const scope = () => ({accountId: world.account.accountId, stream: 'machines', shape: -7});
const probe = (texts: readonly string[], more: Partial<ReturnType<typeof scope>> = {}) =>
  probeKnown(world.pool, {...scope(), ...more, table: machines, hashes: hashesOf(texts)});
const remember = (known: Record<string, string>) =>
  inTransaction(world.pool, (client) => {
    const hashes = Object.entries(known).map(([number, text]) => [number, hashOf(text)] as const);
    return rememberKnown(client, {...scope(), known: new Map(hashes)});
  });
const hashesOf = (texts: readonly string[]) => Buffer.concat(texts.map(hashOf));

beforeEach(async () => {
  await world.pool.query('TRUNCATE warehouse.machines, sync.known_records');
  const rows = ['1', '2', '3'].map((number) => rowOf(machines, {machine_number: number}));
  await inTransaction(world.pool, (client) =>
    loadRows(client, machines, rows, {...scope(), sweepId: '1'}),
  );
  await remember({1: 'one', 2: 'two', 3: 'three'});
});

describe('known records', () => {
  test('are found by their bytes, in the requested order', async () => {
    expect(await probe(['three', 'unknown', 'one'])).toEqual(['3', null, '1']);
  });

  test('are found even if a page holds one of them twice', async () => {
    expect(await probe(['one', 'one'])).toEqual(['1', '1']);
  });

  test('are an empty list if no bytes are given', async () => {
    expect(await probe([])).toEqual([]);
  });

  test('are known by their newest bytes only', async () => {
    await remember({2: 'two, changed'});
    expect(await probe(['two', 'two, changed'])).toEqual([null, '2']);
  });

  test('are not known when their row is marked deleted', async () => {
    await world.pool.query(
      'UPDATE warehouse.machines SET _deleted_at = now() WHERE machine_number = 1',
    );
    expect(await probe(['one', 'two'])).toEqual([null, '2']);
  });

  test('are not known when their row was removed by hand', async () => {
    await world.pool.query('DELETE FROM warehouse.machines WHERE machine_number = 1');
    expect(await probe(['one', 'two'])).toEqual([null, '2']);
  });

  test('are not known when somebody edited their row', async () => {
    await world.pool.query(
      `UPDATE warehouse.machines SET name = 'edited' WHERE machine_number = 1`,
    );
    expect(await probe(['one', 'two'])).toEqual([null, '2']);
  });

  test('are known even if someone wrote the same values to their row', async () => {
    await world.pool.query('UPDATE warehouse.machines SET name = name');
    expect(await probe(['one', 'two'])).toEqual(['1', '2']);
  });

  test('are not known when a field has received a column since', async () => {
    expect(await probe(['one'], {shape: 8})).toEqual([null]);
  });

  test('are not known in another account or stream', async () => {
    expect(await probe(['one'], {accountId: '999'})).toEqual([null]);
    expect(await probe(['one'], {stream: 'employees'})).toEqual([null]);
  });

  test('can be probed and remembered hundreds at a time', async () => {
    const texts = Array.from({length: 700}, (_, at) => `record ${at}`);
    await remember(Object.fromEntries(texts.map((text, at) => [String(at + 1), text])));
    const found = await probe(texts);
    expect([found.length, found.filter((number) => number !== null)]).toEqual([
      700,
      ['1', '2', '3'],
    ]);
  });

  test('cannot be probed in a table whose key has several columns', async () => {
    const asked = probeKnown(world.pool, {...scope(), table: parts, hashes: hashesOf(['one'])});
    await expect(asked).rejects.toThrow(TypeError);
  });
});
