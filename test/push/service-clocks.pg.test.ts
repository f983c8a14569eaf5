// No clock decides whether a create is sent again: the service's may be off ours, off itself, or
// untold.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {customerResource} from '../../src/service/resource.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

const day = 86_400;
const skews = [0, 119, 300, -300, 7_200, -7_200, day, -day] as const;
const tellings = [
  ['that tells it', (skew: number) => skew],
  ['that does not tell it', () => null],
  ['whose answers come through another one that is right', () => 0],
] as const;

let skew = 0;
let tell: (skew: number) => number | null = () => 0;
let place: ScriptedPlace;
let name = '';
let tests = 0;

beforeAll(async () => {
  const clock = {
    get records() {
      return skew;
    },
    date: () => tell(skew),
  };
  place = await openScriptedPlace(clock);
});
beforeEach(() => {
  name = `Ada Example ${++tests}`;
});
afterAll(async () => await place.close());

async function insert(): Promise<void> {
  await place.author('INSERT INTO warehouse.customers (name) VALUES ($1)', [name]);
}

const countCustomers = () =>
  place.service.store.list(customerResource, null).filter(({fields}) => fields.name === name)
    .length;

async function readChange() {
  const [change] = await place.author(
    'SELECT change_id, state, number, result FROM sync.changes ORDER BY change_id DESC LIMIT 1',
  );
  return change;
}

describe.each(tellings)('the clock of a service %s', (_, how) => {
  test.each(skews)('%i seconds ahead, does not duplicate a create in doubt', async (seconds) => {
    skew = seconds;
    tell = how;
    place.mischief.script = () => 'lose';
    await insert();
    await place.rest();
    expect(countCustomers()).toBe(1);
    // Where the service's own clocks contradict each other, a person is shown the record.
    const isContrary = how(seconds) === 0 && seconds < -120;
    expect(await readChange()).toMatchObject(
      isContrary
        ? {state: 'conflict', result: {candidates: [expect.any(String)]}}
        : {state: 'done', number: expect.any(String)},
    );
  });
});

describe.each([
  ['is right', 0],
  ['is a day behind', -day],
  ['is a day ahead', day],
])('if the clock of the service %s', (_, seconds) => {
  beforeEach(() => {
    skew = seconds;
    tell = () => seconds;
  });

  test('a record from an hour before does not count as the result of a lost create', async () => {
    const wanted = {changes: {name}, employeeIds: null, owner: null};
    place.service.store.create(customerResource, wanted, {
      method: 'POST',
      path: '/customers.xml',
      isOurs: false,
    });
    place.service.store.shift(3_600);
    place.mischief.script = () => 'drop';
    await insert();
    await place.rest();
    const change = await readChange();
    expect(change).toMatchObject({state: 'conflict', result: {candidates: [expect.any(String)]}});
    await place.author("SELECT sync.resolve_change($1, 'resend')", [change?.change_id]);
    place.mischief.script = null;
    await place.rest();
    expect(await readChange()).toMatchObject({state: 'done'});
    expect(countCustomers()).toBe(2);
  });

  test('a record known here before a create was sent does not count as its result', async () => {
    const wanted = {changes: {name}, employeeIds: null, owner: null};
    const by = {method: 'POST', path: '/customers.xml', isOurs: false};
    const {fields} = place.service.store.create(customerResource, wanted, by);
    await place.sent('customers', {customer_number: fields.customer_number, name});
    const fates = ['drop' as const];
    place.mischief.script = () => fates.shift() ?? null;
    await insert();
    await place.rest();
    expect(await readChange()).toMatchObject({state: 'done'});
    expect(countCustomers()).toBe(2);
  });

  test.each([
    ['ours', 'here', 'there', 'there'],
    ['theirs', 'there', 'here', 'here'],
  ] as const)(
    'the newest edit wins if it came after %s',
    async (_earlier, first, second, winner) => {
      place.mischief.script = null;
      await insert();
      await place.rest();
      const held = place.service.store
        .list(customerResource, null)
        .find(({fields}) => fields.name === name);
      if (held === undefined) throw new Error('expected a customer');
      await place.author("UPDATE sync.write_rules SET rule = 'newest' WHERE field = 'fax'");
      const edits = {
        here: async () =>
          void (await place.author("UPDATE warehouse.customers SET fax = 'here' WHERE name = $1", [
            name,
          ])),
        there: async () =>
          place.service.store.update(
            held,
            {changes: {fax: 'there'}, employeeIds: null},
            {method: 'PUT', path: '', isOurs: false},
          ),
      };
      await edits[first]();
      await place.pass(60);
      await edits[second]();
      await place.pass(5);
      await place.rest();
      expect(held.fields.fax).toBe(winner);
    },
  );

  test('a record that appeared while the create was in transit counts as its result', async () => {
    place.mischief.script = () => 'late';
    await insert();
    await place.push();
    await place.pass(300);
    await place.rest();
    expect(countCustomers()).toBe(1);
    expect(await readChange()).toMatchObject({state: 'done'});
  });
});
