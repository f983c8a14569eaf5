// A service whose reads show the state of some seconds ago: what it has confirmed is not taken for lost, altered or undone.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {customers, employees, jobs, type Resource} from '../../../src/service/resources/resource.ts';
import {allWrites} from '../../../src/streams/all.ts';
import {loadNow} from '../../support/push/load-now.ts';
import {type Authored, authoredIn} from './authored.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

const by = {method: 'POST', path: '', isOurs: false};
const longestLag = 10;
/** Longer than any reading of a laboratory's service is behind. */
const longSeconds = 100;

let place: ScriptedPlace;
let authored: Record<string, Authored> = {};

beforeEach(async () => {
  place = await openScriptedPlace();
  const {store} = place.service;
  const make = (
    resource: Resource,
    name: string,
    owner: Parameters<typeof store.create>[1]['owner'] = null,
  ) => store.create(resource, {changes: {name}, employeeIds: [], owner}, by);
  const customer = make(customers, 'Ada Example');
  const job = make(jobs, 'Roof', customer);
  const employee = make(employees, 'Bo');
  await loadNow(place);
  await place.pass(longSeconds);
  authored = authoredIn({
    customerNumber: String(customer.fields.customer_number),
    jobNumber: String(job.fields.job_number),
    employeeId: String(employee.fields.id),
  });
});
afterEach(async () => await place.close());

async function write(table: string): Promise<string> {
  const values = Object.entries(authored[table]?.made ?? {});
  const [row] = await place.author(
    `INSERT INTO warehouse.${table} (${values.map(([name]) => name).join(', ')})
     VALUES (${values.map((_, at) => `$${at + 1}`).join(', ')}) RETURNING row_id`,
    values.map(([, value]) => value),
  );
  return String(row?.row_id);
}

const edit = async (table: string, rowId: string) => {
  const [[name, value] = ['', '']] = Object.entries(authored[table]?.later ?? {});
  await place.author(`UPDATE warehouse.${table} SET ${name} = $1 WHERE row_id = $2`, [value, rowId]);
};

/** The fields of a row that an author wrote. */
const valuesOf = async (table: string, rowId: string) =>
  await place.row(table, rowId, [...namesOf(table), '_deleted_at IS NOT NULL AS is_deleted'].join(', '));
const namesOf = (table: string) => {
  const {made = {}, later = {}} = authored[table] ?? {};
  return [...new Set([...Object.keys(made), ...Object.keys(later)])];
};
const outcomes = () => place.changes('operation, state, sends, result, reason');
const done = (operation: string) => ({operation, state: 'done', sends: 1, result: null, reason: null});

describe.each(allWrites)('$table.name', ({table: {name: table}, operations}) => {
  test('a create that reads show later is done once they do', async () => {
    place.service.lag = () => longestLag;
    const rowId = await write(table);
    const made = Object.keys(authored[table]?.made ?? {}).join(', ');
    const wanted = await place.row(table, rowId, made);
    await place.rest();
    expect(await outcomes()).toEqual([done('create')]);
    expect(await place.row(table, rowId, `${made}, _deleted_at`)).toEqual({...wanted, _deleted_at: null});
  });

  test.runIf(operations.includes('update'))(
    'an update that reads show later is done once they do, and altered nothing',
    async () => {
      const rowId = await write(table);
      await place.rest();
      await place.pass(longSeconds);
      place.service.lag = () => longestLag;
      await edit(table, rowId);
      const wanted = await valuesOf(table, rowId);
      expect(await place.push()).toMatchObject({inDoubt: 1});
      expect(await valuesOf(table, rowId)).toEqual(wanted);
      await place.rest();
      expect(await outcomes()).toEqual([done('create'), done('update')]);
      expect(await valuesOf(table, rowId)).toEqual(wanted);
    },
  );

  test.runIf(operations.includes('update'))(
    'a new row that is edited at once is no missing record',
    async () => {
      const rowId = await write(table);
      await place.push();
      place.service.lag = () => longestLag;
      await edit(table, rowId);
      const wanted = await valuesOf(table, rowId);
      await place.rest();
      expect(await outcomes()).toEqual([done('create'), done('update')]);
      expect(await valuesOf(table, rowId)).toEqual(wanted);
    },
  );

  test.runIf(operations.includes('delete'))(
    'a new row that is deleted at once is deleted there, whatever was lost',
    async () => {
      const rowId = await write(table);
      await place.push();
      place.service.lag = () => longestLag;
      let lost = 0;
      place.mischief.script = ({method}) => (method === 'DELETE' && lost++ === 0 ? 'drop' : 'pass');
      await place.author(`DELETE FROM warehouse.${table} WHERE row_id = $1`, [rowId]);
      await place.rest();
      expect((await outcomes()).map(({operation, state}) => ({operation, state}))).toEqual([
        {operation: 'create', state: 'done'},
        {operation: 'delete', state: 'done'},
      ]);
      expect(place.service.store.journal.filter(({kind}) => kind === 'delete')).toHaveLength(1);
    },
  );
});

describe('changes of one record after each other', () => {
  const rename = (name: string) => place.author('UPDATE warehouse.customers SET name = $1', [name]);

  test('are no conflict where a reading shows what was there before the first', async () => {
    await rename('Bo Example');
    await place.push();
    place.service.lag = () => longestLag;
    await rename('Cem Example');
    await place.rest();
    expect(await outcomes()).toEqual([done('update'), done('update')]);
    expect(await place.author('SELECT name FROM warehouse.customers')).toEqual([{name: 'Cem Example'}]);
  });

  test('end with the old value where that is wanted again, though the second request was lost', async () => {
    await rename('Bo Example');
    await place.push();
    place.service.lag = () => longestLag;
    let lost = 0;
    place.mischief.script = () => (lost++ === 0 ? 'drop' : 'pass');
    await rename('Ada Example');
    await place.rest();
    expect(place.service.store.list(customers, null).map(({fields}) => fields.name)).toEqual(['Ada Example']);
  });
});

test('a service that keeps the old value is told as having altered it, after a minute', async () => {
  place.service.misread = (_, value) => (value === 'Bo Example' ? 'Ada Example' : value);
  await place.author("UPDATE warehouse.customers SET name = 'Bo Example'");
  expect(await place.rest()).toBeGreaterThanOrEqual(60);
  expect(await outcomes()).toMatchObject([
    {state: 'done', result: {altered: {name: {sent: 'Bo Example', got: 'Ada Example'}}}},
  ]);
});
