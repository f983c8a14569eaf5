// The answer to a COMMIT is lost: a read must find out whether it was done. Each COMMIT of a push
// and of a sweep is struck once, by a line between the engine and its Postgres.

import {afterEach, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {pushAccount} from '../../src/push/push.ts';
import {allStreams} from '../../src/streams/all.ts';
import {findDifferences} from '../support/compare.ts';
import {type FaultyLine, openFaultyLine} from '../support/faulty-line.ts';
import {createDatabase} from '../support/postgres.ts';
import {openRecordingProxy, type RecordingProxy} from '../support/recording-proxy.ts';
import {readTruth} from '../support/truth.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

const settle = {checkDelaysMs: [0], arrivalLimitMs: 0};
const {signal} = new AbortController();
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Place {
  readonly world: TestWorld;
  readonly service: TestService;
  readonly proxy: RecordingProxy;
  readonly line: FaultyLine;
  /** Loses the answer to the nth COMMIT from now on, from 1; none at 0. @returns how many came */
  strike(nth: number): () => number;
  /** Runs SQL past the line. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}

async function open(): Promise<Place> {
  const service = await openService();
  const proxy = await openRecordingProxy(service.url);
  const database = await createDatabase(inject('warehouseTemplate'));
  const line = await openFaultyLine(Number(new URL(database.url).port));
  const behind = new URL(database.url);
  behind.port = String(line.port);
  const world = await openWorld(
    {url: proxy.url, token: service.token},
    {...database, url: behind.href},
  );
  const pool = openPool(database.url, {max: 1, applicationName: 'author'});
  closers.push(
    service.close,
    proxy.close,
    () => line.close(),
    world.close,
    () => pool.end(),
  );
  const strike = (nth: number) => {
    let commits = 0;
    line.setDraw((chunk) => {
      if (!chunk.includes('COMMIT\0')) return null;
      return ++commits === nth ? {kind: 'lose-reply'} : null;
    });
    return () => commits;
  };
  return {world, service, proxy, line, strike, query: async (sql) => (await pool.query(sql)).rows};
}

test('a push that loses the answer to a COMMIT applies each change exactly once', async () => {
  const {world, proxy, line, strike, query} = await open();
  await world.sweep('customers');
  const push = () =>
    pushAccount({...world, settle}, world.account.accountId, signal).catch(() => {});
  const write = async (name: string) => {
    await query(`INSERT INTO warehouse.customers (name) VALUES ('${name}')`);
    await query(`UPDATE warehouse.customers SET fax = '${name}' WHERE customer_number = 1`);
    await query(`INSERT INTO warehouse.tasks (name) VALUES ('${name}')`);
  };
  await write('undisturbed');
  await push();
  const asked = proxy.takeWrites().length;
  // The number of COMMITs depends on timing: the loop ends when the one to be struck does not come.
  let nth = 0;
  let hasCome = true;
  while (hasCome) {
    nth++;
    await write(`struck ${nth}`);
    const count = strike(nth);
    await push();
    const states = () => query(`SELECT DISTINCT state FROM sync.changes`);
    await expect
      .poll(
        async () => {
          // A change left to its lease comes back when the lease is over.
          await query(`UPDATE sync.changes SET lease_until = now() WHERE lease_until > now()`);
          await query(`UPDATE sync.changes SET due_at = now() WHERE due_at > now()`);
          await push();
          return await states();
        },
        {timeout: 20_000},
      )
      .toEqual([{state: 'done'}]);
    expect(proxy.takeWrites(), `COMMIT ${nth}`).toHaveLength(asked);
    hasCome = count() >= nth;
  }
  expect(line.struck['lose-reply']).toBe(nth - 1);
  expect(nth).toBeGreaterThan(2);
});

test('after a lost answer to a COMMIT, a sweep continues and its rows are correct', async () => {
  const {world, service, line, strike, query} = await open();
  const atService = openPool(service.databaseUrl, {
    max: 1,
    applicationName: 'people at the service',
  });
  closers.push(() => atService.end());
  const lost = () => line.struck['lose-reply'];
  const sweep = async () => {
    await query('UPDATE sync.sweeps SET lease_until = now() WHERE lease_until > now()');
    await query('UPDATE sync.sweeps SET due_at = now() WHERE due_at > now()');
    return (await world.sweep('tasks')).outcome === 'ended';
  };
  let nth = 0;
  do {
    nth++;
    await atService.query(
      `UPDATE service.tasks SET fields = fields
        || jsonb_build_object('name', 'struck ${nth} ' || id)`,
    );
    strike(nth);
    await expect.poll(sweep, {timeout: 20_000}).toBe(true);
    // An earlier sweep may have read earlier state; a sweep that begins now shows the present
    // state.
    line.setDraw(null);
    expect(await sweep()).toBe(true);
    const [tasks] = allStreams.filter(({name}) => name === 'tasks');
    if (tasks === undefined) throw new Error('no tasks');
    expect(
      await findDifferences(world.pool, tasks, await readTruth(service, tasks)),
      `COMMIT ${nth}`,
    ).toEqual([]);
  } while (lost() === nth);
  expect(nth).toBeGreaterThan(2);
});
