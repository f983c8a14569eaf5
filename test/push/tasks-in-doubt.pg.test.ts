// The service has no filter for the name of a task: a look for one that may exist reads the whole
// list.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {taskResource} from '../../src/service/resource.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;

beforeEach(async () => {
  place = await openScriptedPlace();
});
afterEach(async () => await place.close());

const names = Array.from({length: 12}, (_, at) => `Task ${at + 1}`);
const held = () =>
  place.service.store
    .list(taskResource, null)
    .map(({fields: {id, name}}) => ({id: String(id), name}))
    .sort((one, other) => Number(one.id) - Number(other.id));
const lists = () => place.arrived.filter((request) => request.startsWith('GET /tasks.xml')).sort();
const states = async () =>
  (await place.changes('state, sends')).map(({state, sends}) => `${state} ${sends}`);

/** Every other create is done and its answer lost; the others never arrive. */
function loseAnswers() {
  let sent = 0;
  place.mischief.script = ({method}) =>
    method === 'POST' && sent < names.length ? (sent++ % 2 === 0 ? 'lose' : 'drop') : 'pass';
}

test('tasks in doubt share one reading of the list, and each is created once', async () => {
  loseAnswers();
  await place.author('INSERT INTO warehouse.tasks (name) SELECT unnest($1::text[])', [names]);
  expect(await place.push()).toMatchObject({inDoubt: names.length});
  expect(held()).toHaveLength(6);
  await place.pass(2);
  place.arrived.splice(0);
  expect(await place.push()).toMatchObject({done: 6, inDoubt: 6});
  expect(lists()).toEqual([1, 2, 3].map((page) => `GET /tasks.xml?page=${page}`));
  await place.rest();
  const sentOnce = (await states()).filter((state) => state === 'done 1');
  const sentTwice = (await states()).filter((state) => state === 'done 2');
  expect([sentOnce, sentTwice].map(({length}) => length)).toEqual([6, 6]);
  expect(
    held()
      .map(({name}) => name)
      .sort(),
  ).toEqual([...names].sort());
  expect(
    await place.author('SELECT id::text, name FROM warehouse.tasks ORDER BY tasks.id'),
  ).toEqual(held());
});

test('a task that may match an unreadable record is never sent again', async () => {
  const unreadable = {changes: {name: 'Bell', employee_id: 'nobody'}, employeeIds: [], owner: null};
  place.service.store.create(taskResource, unreadable, {
    method: 'POST',
    path: '/tasks.xml',
    isOurs: false,
  });
  place.mischief.script = ({method}) => (method === 'POST' ? 'drop' : null);
  await place.author("INSERT INTO warehouse.tasks (name) VALUES ('Call back')");
  await place.rest();
  expect(await place.changes('state, sends, reason')).toEqual([
    {state: 'conflict', sends: 1, reason: expect.stringContaining('may be what was created')},
  ]);
});
