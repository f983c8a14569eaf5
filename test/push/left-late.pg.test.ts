// A request that waits long for its turn, behind a `Retry-After` or a crowd, leaves long after it
// was noted. The time in which it may still arrive begins when it left.

import {afterEach, beforeEach, expect, test} from 'vitest';
import type {PushDeps} from '../../src/push/run.ts';
import {customerResource} from '../../src/service/resource.ts';
import {latestSeconds} from '../labs/push/mischief.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;
const names = Array.from({length: 8}, (_, at) => `Customer ${at + 1}`);

beforeEach(async () => {
  place = await openScriptedPlace();
  await place.author('INSERT INTO warehouse.customers (name) SELECT unnest($1::text[])', [names]);
});
afterEach(async () => await place.close());

/** Longer than the quarantine; the lease is kept meanwhile. */
const waitSeconds = 1_000;
const leaseMs = 3_600_000;

/** The requests leave after the wait, and arrive late. */
async function sendLate(after: NonNullable<PushDeps['onStep']> = async () => {}): Promise<void> {
  let sent = 0;
  place.mischief.script = () => (++sent <= names.length ? 'late' : 'pass');
  let noted = 0;
  const allNoted = Promise.withResolvers<void>();
  const wait = allNoted.promise.then(() => place.pass(waitSeconds));
  const onStep: PushDeps['onStep'] = async (step, changeId) => {
    if (step === 'sending-committed' && ++noted === names.length) allNoted.resolve();
    if (step === 'turn') await wait;
    await after(step, changeId);
  };
  await place.push({onStep, leaseMs});
}

const made = () => place.service.store.journal.filter(({kind}) => kind === 'create').length;

test('a create that left late is not sent again while its request may still arrive', async () => {
  await sendLate();
  await place.rest();
  await place.pass(latestSeconds);
  expect(made()).toBe(names.length);
});

test('a create that left late is not sent again if an error stopped its worker', async () => {
  await sendLate(async (step) => {
    if (step === 'answered') throw new Error('the worker stops');
  });
  await place.rest();
  await place.pass(latestSeconds);
  expect(made()).toBe(names.length);
});

test('a create that left late is not sent again if its worker was lost', async () => {
  await sendLate(async (step) => {
    if (step !== 'answered') return;
    // The fence of another worker keeps this one from writing anything down.
    await place.pool.query('UPDATE sync.changes SET lease_until = now()');
    await place.push();
  });
  await place.rest();
  await place.pass(latestSeconds);
  expect(made()).toBe(names.length);
});

test('a later change waits for an earlier request that left late', async () => {
  await place.rest();
  let sent = 0;
  place.mischief.script = () => (++sent <= 2 ? 'late' : 'pass');
  await place.author("UPDATE warehouse.customers SET fax = '555-0199' WHERE name = 'Customer 1'");
  await place.push();
  await place.pass(2);
  // The first request arrives while the second waits for its turn, which then arrives late itself.
  await place.push({
    leaseMs,
    onStep: async (step) => (step === 'turn' ? place.pass(waitSeconds) : undefined),
  });
  await place.author("UPDATE warehouse.customers SET fax = '555-0111' WHERE name = 'Customer 1'");
  await place.rest();
  await place.pass(latestSeconds);
  expect(sent).toBe(3);
  expect(place.service.store.list(customerResource, null).map(({fields}) => fields.fax)).toContain(
    '555-0111',
  );
});
