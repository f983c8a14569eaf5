// A service whose reads show the state of some seconds ago: what it has confirmed is not taken for
// lost, altered or undone.

import {setImmediate} from 'node:timers/promises';
import {afterAll, afterEach, beforeEach, describe, expect, test} from 'vitest';
import type {PushStep} from '../../src/push/run.ts';
import {
  customerResource,
  employeeResource,
  jobResource,
  type ServiceResource,
  taskResource,
} from '../../src/service/resource.ts';
import {allWrites, findWrites} from '../../src/streams/all.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {loadNow, loadWith} from '../labs/push/load-now.ts';
import {type Authored, authoredIn} from './authored.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

const by = {method: 'POST', path: '', isOurs: false};
const longestLag = 10;
/** Longer than any reading of a laboratory's service is behind. */
const longSeconds = 100;

const pageReader = new PageReader();
afterAll(async () => await pageReader.close());

let place: ScriptedPlace;
let authored: Record<string, Authored> = {};

beforeEach(async () => {
  place = await openScriptedPlace();
  const {store} = place.service;
  const make = (
    resource: ServiceResource,
    name: string,
    owner: Parameters<typeof store.create>[1]['owner'] = null,
  ) => store.create(resource, {changes: {name}, employeeIds: [], owner}, by);
  const customer = make(customerResource, 'Ada Example');
  const job = make(jobResource, 'Roof', customer);
  const employee = make(employeeResource, 'Bo');
  make(taskResource, 'Call back later');
  expect(await loadNow(place, pageReader)).toBe(true);
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
  await place.author(`UPDATE warehouse.${table} SET ${name} = $1 WHERE row_id = $2`, [
    value,
    rowId,
  ]);
};

/** The fields of a row that an author wrote. */
const valuesOf = async (table: string, rowId: string) =>
  await place.row(
    table,
    rowId,
    [...namesOf(table), '_deleted_at IS NOT NULL AS is_deleted'].join(', '),
  );
const namesOf = (table: string) => {
  const {made = {}, later = {}} = authored[table] ?? {};
  return [...new Set([...Object.keys(made), ...Object.keys(later)])];
};
const outcomes = () => place.changes('operation, state, sends, result, reason');
const done = (operation: string) => ({
  operation,
  state: 'done',
  sends: 1,
  result: null,
  reason: null,
});

describe.each(allWrites)('$table.name', ({table: {name: table}, operations}) => {
  test('a create that reads show late is done once they show it', async () => {
    place.service.lag = () => longestLag;
    const rowId = await write(table);
    const made = Object.keys(authored[table]?.made ?? {}).join(', ');
    const wanted = await place.row(table, rowId, made);
    await place.rest();
    expect(await outcomes()).toEqual([done('create')]);
    expect(await place.row(table, rowId, `${made}, _deleted_at`)).toEqual({
      ...wanted,
      _deleted_at: null,
    });
  });

  test.runIf(operations.includes('update'))(
    'an update that reads show late is done once they show it, and is not reported as altered',
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
    'an edit right after a create is not reported as a missing record',
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
    'a delete right after a create is done at the service, though a request was lost',
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

/** The stream whose lists show a table's rows. */
const streamOf = (table: string) => findWrites(table).stream;
/**
 * Sweeps with reads that are behind, and later with reads that are not: the sweep waits for those.
 */
async function sweepBehind(table: string, check: () => Promise<unknown>): Promise<void> {
  place.service.lag = () => longestLag;
  expect(await loadNow(place, pageReader, streamOf(table))).toBe(false);
  await check();
  expect(await place.author("SELECT state, error FROM sync.sweeps WHERE state = 'due'")).toEqual([
    {state: 'due', error: expect.stringContaining('as before a change of ours')},
  ]);
  place.service.lag = () => 0;
  expect(await loadNow(place, pageReader, streamOf(table))).toBe(true);
  await check();
  expect(
    await place.author('SELECT state, evidence FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 1'),
  ).toEqual([
    {state: 'certified', evidence: expect.not.objectContaining({older: expect.anything()})},
  ]);
}

test.each(allWrites)(
  'a sweep of $table.name right after a change keeps its result',
  async (writes) => {
    const {operations} = writes;
    const {name: table} = writes.table;
    const isAlive = async () =>
      (await place.row(table, rowId, '_deleted_at'))?._deleted_at === null;
    const rowId = await write(table);
    await place.push();
    await sweepBehind(table, async () => expect(await isAlive()).toBe(true));
    if (operations.includes('update')) {
      await place.pass(longSeconds);
      await edit(table, rowId);
      await place.push();
      const wanted = await valuesOf(table, rowId);
      await sweepBehind(table, async () => expect(await valuesOf(table, rowId)).toEqual(wanted));
    }
    if (operations.includes('delete')) {
      await place.pass(longSeconds);
      await place.author(`DELETE FROM warehouse.${table} WHERE row_id = $1`, [rowId]);
      await place.push();
      await sweepBehind(table, async () => expect(await isAlive()).toBe(false));
    }
  },
);

/**
 * Carries a change, and while its end is written, though not committed, sweeps with reads that are
 * behind.
 */
async function endDuringSweep(table: string): Promise<void> {
  place.service.lag = () => 0;
  let sweep: Promise<unknown> | null = null;
  const onStep = async (step: PushStep) => {
    if (step !== 'end-written') return;
    place.service.lag = () => longestLag;
    const loading = loadNow(place, pageReader, streamOf(table));
    sweep = loading;
    let isOver = false;
    const settle = () => {
      isOver = true;
    };
    loading.then(settle, settle);
    while (!isOver && !(await isOneWaiting())) await setImmediate();
  };
  expect(await place.push({onStep})).toMatchObject({done: 1});
  expect(sweep).not.toBeNull();
  await sweep;
}

/** Whether a session of the warehouse waits for a lock of another. */
const isOneWaiting = async () =>
  (
    await place.author(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
    )
  ).length > 0;

test.each(allWrites)(
  'a sweep of $table.name that started while a change was ending keeps its result',
  async ({table: {name: table}, operations}) => {
    const rowId = await write(table);
    const made = Object.keys(authored[table]?.made ?? {}).join(', ');
    const created = await place.row(table, rowId, made);
    await endDuringSweep(table);
    expect(await place.row(table, rowId, `${made}, _deleted_at`)).toEqual({
      ...created,
      _deleted_at: null,
    });
    if (operations.includes('update')) {
      await place.pass(longSeconds);
      await edit(table, rowId);
      const wanted = await valuesOf(table, rowId);
      await endDuringSweep(table);
      expect(await valuesOf(table, rowId)).toEqual(wanted);
    }
    if (operations.includes('delete')) {
      await place.pass(longSeconds);
      await place.author(`DELETE FROM warehouse.${table} WHERE row_id = $1`, [rowId]);
      await endDuringSweep(table);
      expect((await place.row(table, rowId, '_deleted_at'))?._deleted_at).not.toBeNull();
    }
  },
);

describe('employees of a job', () => {
  const assigned = async () =>
    (await place.author('SELECT FROM warehouse.job_employees WHERE _deleted_at IS NULL')).length;
  const assign = () =>
    place.author(`INSERT INTO warehouse.job_employees (job_number, employee_id)
      SELECT jobs.job_number, employees.id FROM warehouse.jobs, warehouse.employees`);

  test('stay assigned, or removed, even if a sweep right after shows an older state', async () => {
    await assign();
    await place.push();
    await sweepBehind('jobs', async () => expect(await assigned()).toBe(1));
    await place.pass(longSeconds);
    await place.author('DELETE FROM warehouse.job_employees WHERE _deleted_at IS NULL');
    await place.push();
    await sweepBehind('jobs', async () => expect(await assigned()).toBe(0));
  });

  test('stay as their change read them, even if a later read for a note shows less', async () => {
    const note = await write('job_notes');
    await place.rest();
    await place.pass(longSeconds);
    place.service.lag = () => longestLag;
    await edit('job_notes', note);
    expect(await place.push()).toMatchObject({inDoubt: 1});
    await place.pass(longSeconds);
    await assign();
    await place.author("UPDATE warehouse.tasks SET name = 'Call soon'");
    const rows = await place.changes('change_id, table_name');
    const tableOf = new Map(rows.map((row) => [String(row.change_id), row.table_name]));
    let lag = 0;
    place.service.lag = () => lag;
    const jobRead = Promise.withResolvers<void>();
    const taskEnds = Promise.withResolvers<void>();
    const noteRead = Promise.withResolvers<void>();
    const onStep = async (step: PushStep, changeId: string) => {
      const at = `${tableOf.get(changeId)} ${step}`;
      if (at === 'job_notes claimed') {
        await Promise.all([jobRead.promise, taskEnds.promise]);
        lag = longestLag;
      } else if (at === 'job_notes checked') {
        noteRead.resolve();
      } else if (at === 'jobs read-back') {
        jobRead.resolve();
        await noteRead.promise;
      } else if (at === 'tasks end-written') {
        taskEnds.resolve();
        await noteRead.promise;
        // The other two decide, and wait for this batch: they end in one.
        for (let turn = 0; turn < 100; turn++) await setImmediate();
      }
    };
    expect(await place.push({onStep})).toMatchObject({done: 3});
    expect(await assigned()).toBe(1);
  });

  test('assigned while a change of other employees is running cause no conflict', async () => {
    const assignLater = async (name: string) => {
      const changes = {name};
      const made = place.service.store.create(
        employeeResource,
        {changes, employeeIds: [], owner: null},
        by,
      );
      await place.author(
        `BEGIN; SET LOCAL fieldmirror.mode = 'hold';
         INSERT INTO warehouse.job_employees (job_number, employee_id)
         SELECT job_number, ${made.fields.id} FROM warehouse.jobs; COMMIT`,
      );
    };
    await assign();
    await place.push({
      onStep: async (step) => {
        if (step === 'read-back') await assignLater('Cleo');
      },
    });
    await assignLater('Dan');
    await place.pass(longSeconds);
    await place.author('SELECT sync.release_change(change_id) FROM sync.changes WHERE is_open');
    await place.rest();
    expect(await outcomes()).toEqual([done('update'), done('update')]);
    expect(await assigned()).toBe(3);
  });

  test('stay as a change left them, even if a sweep started while it was ending', async () => {
    await assign();
    await endDuringSweep('jobs');
    expect(await assigned()).toBe(1);
    await place.pass(longSeconds);
    await place.author('DELETE FROM warehouse.job_employees WHERE _deleted_at IS NULL');
    await endDuringSweep('jobs');
    expect(await assigned()).toBe(0);
  });
});

describe('a record that another client sets back to the old value', () => {
  const held = async () => (await place.author('SELECT name FROM warehouse.customers'))[0]?.name;
  beforeEach(async () => {
    await place.author("UPDATE warehouse.customers SET name = 'Bo Example'");
    await place.push();
    const [record] = place.service.store.list(customerResource, null);
    if (record === undefined) throw new Error('expected a customer');
    place.service.store.update(record, {changes: {name: 'Ada Example'}, employeeIds: null}, by);
  });

  test.each([
    ['full', {}],
    ['window', {mode: 'window', windowName: 'whole_list'}],
    ['record', {mode: 'record', recordNumber: '1'}],
  ] as const)('is not accepted by a %s sweep at once, but 100 seconds later', async (_, target) => {
    const sweep = async () => await loadWith(place, pageReader, {stream: 'customers', ...target});
    expect([await sweep(), await held()]).toEqual([false, 'Bo Example']);
    await place.pass(longSeconds);
    expect([await sweep(), await held()]).toEqual([true, 'Ada Example']);
  });
});

describe('successive changes of one record', () => {
  const rename = (name: string) => place.author('UPDATE warehouse.customers SET name = $1', [name]);

  test('are no conflict if a reading shows the value from before the first one', async () => {
    await rename('Bo Example');
    await place.push();
    place.service.lag = () => longestLag;
    await rename('Cem Example');
    await place.rest();
    expect(await outcomes()).toEqual([done('update'), done('update')]);
    expect(await place.author('SELECT name FROM warehouse.customers')).toEqual([
      {name: 'Cem Example'},
    ]);
  });

  test('end with the old value if the second one restores it and its request is lost', async () => {
    await rename('Bo Example');
    await place.push();
    place.service.lag = () => longestLag;
    let lost = 0;
    place.mischief.script = () => (lost++ === 0 ? 'drop' : 'pass');
    await rename('Ada Example');
    await place.rest();
    expect(place.service.store.list(customerResource, null).map(({fields}) => fields.name)).toEqual(
      ['Ada Example'],
    );
  });
});

test('a service that keeps the old value is reported as altering it after a minute', async () => {
  place.service.misread = (_, value) => (value === 'Bo Example' ? 'Ada Example' : value);
  await place.author("UPDATE warehouse.customers SET name = 'Bo Example'");
  expect(await place.rest()).toBeGreaterThanOrEqual(60);
  expect(await outcomes()).toMatchObject([
    {state: 'done', result: {altered: {name: {sent: 'Bo Example', got: 'Ada Example'}}}},
  ]);
});
