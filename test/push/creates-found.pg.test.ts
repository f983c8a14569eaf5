// A create in doubt whose record was found, but could not be read, has arrived: it is not sent
// again.

import {afterEach, beforeEach, expect, test} from 'vitest';
import type {Transport} from '../../src/api/transport.ts';
import type {PushDeps} from '../../src/push/run.ts';
import {customerResource} from '../../src/service/resource.ts';
import {readNextDue} from '../labs/push/fake-time.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;

beforeEach(async () => {
  place = await openScriptedPlace();
  place.mischief.script = ({method}) => (method === 'POST' ? 'lose' : null);
  await place.author("INSERT INTO warehouse.customers (name) VALUES ('Ada Example')");
  await place.push();
  place.mischief.script = null;
});
afterEach(async () => await place.close());

const by = {method: 'DELETE', path: '', isOurs: false};
const made = () => place.service.store.journal.filter(({kind}) => kind === 'create').length;
const change = async () => (await place.changes('state, sends, number'))[0];

/**
 * Lets some event happen between the look and the reading, for longer than a request can be on its
 * way.
 */
async function lookWhile(
  happens: () => Promise<void> | void,
  after: () => Promise<void>,
): Promise<void> {
  const deps: Partial<PushDeps> = {
    onStep: async (step) => {
      if (step === 'checked') await happens();
    },
  };
  for (let seconds = 0; seconds < 3_600; ) {
    const due = await readNextDue(place.pool);
    if (due === null) return;
    seconds += Math.max(1, due);
    await place.pass(Math.max(1, due));
    await place.push(deps);
    await after();
  }
}

test('a create that was found but not read is not sent again, and is done once read', async () => {
  await lookWhile(
    () => place.mischief.goDown(),
    () => place.mischief.comeUp(),
  );
  expect(await change()).toMatchObject({state: 'in_doubt', sends: 1});
  await place.rest();
  expect(await change()).toMatchObject({state: 'done', sends: 1});
  expect(made()).toBe(1);
});

test('a create whose record was deleted meanwhile is left to a person', async () => {
  await lookWhile(
    () => {
      const [record] = place.service.store.list(customerResource, null);
      if (record !== undefined) place.service.store.delete(record, by);
    },
    async () => {},
  );
  expect(await change()).toMatchObject({state: 'conflict', sends: 1});
  expect(made()).toBe(1);
});

test('a doubtful job waits while the list of its customer is about another kind', async () => {
  await place.rest();
  await place.author('DELETE FROM sync.changes');
  place.mischief.script = ({method}) => (method === 'POST' ? 'lose' : null);
  await place.author(
    `INSERT INTO warehouse.jobs (customer_number, name)
     SELECT customer_number, 'New roof' FROM warehouse.customers`,
  );
  await place.push();
  place.mischief.script = null;
  expect(made()).toBe(2);
  const own = place.openTransport();
  const odd: Transport = {
    place: own.place,
    limiter: own.limiter,
    read: async (request) =>
      /^\/customers\/\d+\/jobs\.xml/.test(request.path)
        ? {gone: true, status: 400, message: 'Invalid employee.'}
        : await own.read(request),
    write: (request) => own.write(request),
    readMessage: (...answer) => own.readMessage(...answer),
    hide: (...text) => own.hide(...text),
    close: () => own.close(),
  };
  for (let minutes = 0; minutes < 60; minutes++) {
    await place.pass(60);
    await place.push({}, odd);
  }
  expect(await change()).toMatchObject({state: 'in_doubt', sends: 1});
  await place.rest();
  expect(await change()).toMatchObject({state: 'done', sends: 1});
  expect(made()).toBe(2);
});
