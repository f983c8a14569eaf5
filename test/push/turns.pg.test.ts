// A request may wait long for its turn. A worker that stops meanwhile, and wakes when another has
// the change, sends nothing.

import {afterEach, describe, expect, test} from 'vitest';
import {pauseAccount, resumeAccount} from '../../src/accounts/accounts.ts';
import {customerResource} from '../../src/service/resource.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;

afterEach(async () => await place.close());

const insert = "INSERT INTO warehouse.customers (name) VALUES ('Ada Example')";
const listCustomers = () =>
  place.service.store.list(customerResource, null).map(({fields}) => fields.customer_number);

/** A worker whose requests wait until the test lets them go. */
function holdBack() {
  const waits = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const transport = place.openTransport({
    retry: {
      attempts: 1,
      sleep: async () => {
        waits.resolve();
        await letGo.promise;
      },
    },
  });
  transport.limiter.hold(300_000);
  return {transport, waits: waits.promise, letGo: letGo.resolve};
}

describe('a process that is suspended while its request waits for Retry-After', () => {
  test('sends nothing when it wakes if another process has sent the create again', async () => {
    place = await openScriptedPlace();
    await place.author(insert);
    const {transport, waits, letGo} = holdBack();
    const sleeper = place.push({}, transport);
    await waits;
    await place.pass(60);
    await place.rest();
    expect(listCustomers()).toEqual(['1']);
    letGo();
    await sleeper;
    expect(listCustomers()).toEqual(['1']);
    expect(await place.changes('state, number, sends')).toEqual([
      {state: 'done', number: '1', sends: 2},
    ]);
  });

  test('returns the change unsent if its lease expired and no process claimed it', async () => {
    place = await openScriptedPlace();
    await place.author(insert);
    const {transport, waits, letGo} = holdBack();
    const sleeper = place.push({}, transport);
    await waits;
    await place.pass(60);
    letGo();
    expect(await sleeper).toMatchObject({postponed: 1});
    expect(listCustomers()).toEqual([]);
    expect(await place.changes('state, sends')).toEqual([{state: 'pending', sends: 0}]);
    await place.rest();
    expect(listCustomers()).toEqual(['1']);
  });
});

test('a lost lease ends requests that wait for their turn', async () => {
  place = await openScriptedPlace();
  await place.author(`${insert}; ${insert.replace('Ada', 'Bo')}`);
  const onItsWay = Promise.withResolvers<void>();
  const never = new Promise<void>(() => {});
  const {transport} = holdBack();
  const one = place.push(
    {
      leaseMs: 300,
      onStep: async (step) => void (step === 'sending-committed' && onItsWay.resolve()),
    },
    transport,
  );
  await onItsWay.promise;
  await place.author('UPDATE sync.changes SET fence = fence + 1');
  // The limiter never lets go: only the lost lease ends the wait.
  expect(await Promise.race([one, never])).toMatchObject({postponed: 2});
  expect(listCustomers()).toEqual([]);
});

test('accounts pause stops waiting requests; requests that were sent continue', async () => {
  place = await openScriptedPlace();
  await place.author(`${insert}; ${insert.replace('Ada', 'Bo')}`);
  const noted = Promise.withResolvers<void>();
  const {transport} = holdBack();
  let count = 0;
  const waiting = place.push(
    {
      onStep: async (step) =>
        void (step === 'sending-committed' && ++count === 2 && noted.resolve()),
    },
    transport,
  );
  await noted.promise;
  await pauseAccount(place.pool, place.accountId, 'a look first');
  // The limiter never lets go: only the pause ends the wait.
  expect(await waiting).toMatchObject({postponed: 2});
  expect(listCustomers()).toEqual([]);
  expect(await place.changes('state, sends')).toEqual(Array(2).fill({state: 'pending', sends: 0}));
  await resumeAccount(place.pool, place.accountId);
  const onItsWay = Promise.withResolvers<void>();
  const paused = Promise.withResolvers<void>();
  let answered = 0;
  await place.pass(60);
  const going = place.push({
    onStep: async (step) => {
      if (step !== 'answered') return;
      if (++answered === 2) onItsWay.resolve();
      await paused.promise;
    },
  });
  await onItsWay.promise;
  await pauseAccount(place.pool, place.accountId, null);
  paused.resolve();
  expect(await going).toMatchObject({inDoubt: 0, postponed: 0, done: 2});
});

test('at most twice as many changes are stored as sent as requests run at once', async () => {
  place = await openScriptedPlace();
  await place.author(
    `INSERT INTO warehouse.customers (name) SELECT 'Ada ' || n FROM generate_series(1, 40) AS n`,
  );
  const unsent = new Set<string>();
  let most = 0;
  const counts = await place.push(
    {
      onStep: async (step, changeId) => {
        if (step === 'sending-written') unsent.add(changeId);
        if (step === 'turn') unsent.delete(changeId);
        most = Math.max(most, unsent.size);
      },
    },
    place.openTransport({concurrency: {initial: 2, max: 2}}),
  );
  expect(counts).toMatchObject({done: 40});
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(4);
});
