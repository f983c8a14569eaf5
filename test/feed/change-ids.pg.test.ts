// Each entry of the feed names the change that caused it, and no other: what an author writes, in
// every table; what the service makes of it; and what others do meanwhile to the same rows.

import pg from 'pg';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import {allTables} from '../../src/streams/all.ts';
import type {WarehouseTable} from '../../src/streams/table.ts';
import {neededBy} from '../changes/capture-world.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';
import {type Entry, type FeedPlace, openFeedPlace, readEntries} from './place.ts';

const tell = ({table_name, operation, after, before, own, change_id}: Entry) => ({
  table: table_name,
  operation,
  own,
  change: change_id,
  fields: Object.keys(after ?? before ?? {}).toSorted(),
});

describe('feed entries of writes by an author', () => {
  let place: FeedPlace;
  beforeAll(async () => {
    place = await openFeedPlace();
  });
  afterAll(() => place?.close());
  beforeEach(async () => {
    await place.empty();
    await place.sent('customers', {customer_number: '1', id: '101', name: 'Acme'});
    await place.sent('jobs', {job_number: '1', id: '201', customer_number: '1', name: 'Roof'});
  });

  const lastChange = async () =>
    (await place.author('SELECT max(change_id)::text AS id FROM sync.changes'))[0]?.id;

  async function read(start: string): Promise<ReturnType<typeof tell>[]> {
    return (await place.feed(start)).map(tell);
  }

  const keyOf = ({capture}: WarehouseTable) =>
    capture.key === 'job_number' ? 'job_number' : capture.key;

  /** A row that the service sent, under the parents above. */
  async function sendRow(table: WarehouseTable): Promise<string> {
    if (table.name === 'customers' || table.name === 'jobs')
      return String((await place.author(`SELECT row_id FROM warehouse.${table.name}`))[0]?.row_id);
    const {parent} = table.capture;
    return await place.sent(table.name, {
      ...(parent === null ? {} : {[parent.numberColumn]: '1'}),
      ...(table.name === 'job_employees'
        ? {employee_id: '7'}
        : {[keyOf(table)]: '61', ...neededBy(table)}),
    });
  }

  const another = {text: 'another', decimal: '2'};
  const captured = allTables.filter(({capture}) => capture.operations.length > 0);
  const cases = captured.flatMap((table) =>
    table.capture.operations.map((operation) => [operation, table.name, table] as const),
  );

  test.each(cases)('%s of %s names its change', async (operation, name, table) => {
    const {parent} = table.capture;
    const rowId = operation === 'create' ? null : await sendRow(table);
    const start = await place.end();
    if (operation === 'create') {
      const cells = {
        ...neededBy(table),
        ...(parent === null ? {} : {[parent.numberColumn]: '1'}),
        ...(name === 'job_employees' ? {employee_id: '8'} : {}),
      };
      const names = Object.keys(cells);
      await place.author(
        `INSERT INTO warehouse.${name} (${names.join(', ')})
          VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
        Object.values(cells),
      );
    } else if (operation === 'update') {
      const field = table.writable.find(({kind, onUpdate}) => kind in another && onUpdate);
      await place.author(`UPDATE warehouse.${name} SET ${field?.name} = $2 WHERE row_id = $1`, [
        rowId,
        another[field?.kind as keyof typeof another],
      ]);
    } else await place.author(`DELETE FROM warehouse.${name} WHERE row_id = $1`, [rowId]);
    const change = await lastChange();
    expect(change).toEqual(expect.any(String));
    expect(await read(start)).toEqual([
      {
        table: name,
        own: true,
        change,
        fields: expect.any(Array),
        operation: {create: 'created', update: 'changed', delete: 'removed'}[operation],
      },
    ]);
  });

  const update = (set: string) => place.author(`UPDATE warehouse.customers SET ${set}`);

  test('an edit that joins an unsent change names that change', async () => {
    await update(`phone_number = '1'`);
    const start = await place.end();
    await update(`fax = '2'`);
    expect((await place.changes('change_id')).length).toBe(1);
    expect(await read(start)).toMatchObject([{fields: ['fax'], change: await lastChange()}]);
  });

  test('an edit of external_key names no change', async () => {
    await place.sweep(`UPDATE warehouse.customers SET _change_id = 7, _sweep_id = NULL`);
    const start = await place.end();
    await place.author(
      `BEGIN; UPDATE warehouse.customers SET phone_number = '1'; UPDATE warehouse.customers
        SET external_key = 'erp-1'; COMMIT`,
    );
    await update(`external_key = 'erp-2'`);
    const change = await lastChange();
    expect(await read(start)).toMatchObject([
      {fields: ['phone_number'], change},
      {fields: ['external_key'], change: null},
      {fields: ['external_key'], change: null},
    ]);
  });

  test('undoing an unsent write names the change that it cancels', async () => {
    const start = await place.end();
    await update(`phone_number = '1'`);
    const change = await lastChange();
    // An earlier change was read back meanwhile.
    await place.sweep(`UPDATE warehouse.customers SET _change_id = 7, _hash = '\\x07'`);
    await place.author('SELECT sync.cancel_change($1)', [change]);
    const [made] = await place.author(
      `INSERT INTO warehouse.customers (name) VALUES ('New') RETURNING row_id`,
    );
    const create = await lastChange();
    await place.author('DELETE FROM warehouse.customers WHERE row_id = $1', [made?.row_id]);
    expect(await read(start)).toMatchObject([
      {operation: 'changed', own: true, change},
      {operation: 'changed', own: false, change},
      {operation: 'created', own: true, change: create},
      {operation: 'removed', own: true, change: create},
    ]);
  });

  test('a sweep names no change, even if a change wrote the row before', async () => {
    await place.sweep(
      `UPDATE warehouse.customers SET _change_id = 7, _sweep_id = NULL, _hash = '\\x07'`,
    );
    const start = await place.end();
    await place.sweep(
      `UPDATE warehouse.customers SET name = 'Bolt', _change_id = NULL, _sweep_id = 8,
        _hash = '\\x08'`,
    );
    await place.sweep(
      'UPDATE warehouse.customers SET _deleted_at = now(), _sweep_id = 9, _change_id = NULL',
    );
    expect(await read(start)).toMatchObject([{change: null}, {change: null}]);
  });
});

describe('feed entries of records read back after a write', () => {
  let service: TestService;
  let world: TestWorld;
  let people: pg.Client;

  beforeAll(async () => {
    service = await openService();
    world = await openWorld(service);
    await world.sweepAll();
    people = new pg.Client({connectionString: service.databaseUrl});
    await people.connect();
  });
  afterAll(async () => {
    await people?.end();
    await world?.close();
    await service?.close();
  });

  async function end(): Promise<string> {
    await world.pool.query('SELECT sync.sequence_feed()');
    return (await world.pool.query('SELECT sync.feed_end() AS cursor')).rows[0].cursor;
  }

  async function read(start: string): Promise<ReturnType<typeof tell>[]> {
    await world.pool.query('SELECT sync.sequence_feed()');
    return (await readEntries(world.pool, start)).map(tell);
  }

  /** Writes as an ERP. @returns the number of the change */
  async function write(text: string): Promise<string> {
    await world.pool.query(text);
    return (await world.pool.query('SELECT max(change_id)::text AS id FROM sync.changes')).rows[0]
      .id;
  }

  /** Edits a record at the service, as a dispatcher does. */
  async function dispatch(
    table: string,
    key: string,
    number: number,
    fields: object,
  ): Promise<void> {
    const {rowCount} = await people.query(
      `UPDATE service.${table} SET fields = fields || $2::jsonb WHERE fields ->> '${key}' = $1`,
      [String(number), JSON.stringify(fields)],
    );
    expect(rowCount).toBe(1);
  }

  const push = async () => {
    await pushAccount(world, world.account.accountId, new AbortController().signal);
    const {rows} = await world.pool.query(
      'SELECT change_id, state, reason FROM sync.changes WHERE is_open',
    );
    expect(rows).toEqual([]);
  };

  test('values that the service derives from an edit name its change', async () => {
    const start = await end();
    const change = await write(
      `UPDATE warehouse.customers SET phone_number = '555-0001' WHERE customer_number = 1`,
    );
    await push();
    const [own, ...others] = await read(start);
    expect(own).toMatchObject({own: true, fields: ['phone_number'], change});
    expect(others.length).toBeGreaterThan(0);
    for (const other of others)
      expect(other).toMatchObject({own: false, change, operation: 'changed'});
  });

  test('an edit that a dispatcher made in the meantime names no change', async () => {
    await dispatch('customers', 'customer_number', 2, {
      service_city: 'Oslo',
      updated_at: '2026-11-20T10:00:00Z',
    });
    const start = await end();
    const change = await write(
      `UPDATE warehouse.customers SET phone_number = '555-0002' WHERE customer_number = 2`,
    );
    await push();
    const entries = await read(start);
    expect(entries).toMatchObject([
      {own: true, fields: ['phone_number'], change},
      {own: false, change: null},
    ]);
    expect(entries[1]?.fields).toContain('service_city');
  });

  test('a dispatcher’s value in a column that authors cannot write names no change', async () => {
    await dispatch('customers', 'customer_number', 3, {mobile: '555-9003'});
    const start = await end();
    const change = await write(
      `UPDATE warehouse.customers SET phone_number = '555-0003' WHERE customer_number = 3`,
    );
    await push();
    expect(await read(start)).toMatchObject([
      {own: true, fields: ['phone_number'], change},
      {own: false, fields: expect.arrayContaining(['mobile', 'updated_at']), change: null},
    ]);
  });

  test('a dispatcher’s value that wins or shares a field group names no change', async () => {
    const rule = (name: string) =>
      world.pool.query(
        `UPDATE sync.write_rules SET rule = $1 WHERE table_name = 'customers'
          AND field IN ('service_address', 'service_city', 'service_zip_code', 'service_state',
            'service_country')`,
        [name],
      );
    await rule('service');
    await dispatch('customers', 'customer_number', 4, {service_city: 'Bergen'});
    await dispatch('customers', 'customer_number', 5, {service_city: 'Oslo'});
    const start = await end();
    await write(
      `UPDATE warehouse.customers SET service_city = 'Here', fax = '555-4'
        WHERE customer_number = 4`,
    );
    await write(
      `UPDATE warehouse.customers SET service_address = '5 Main St', fax = '555-5'
        WHERE customer_number = 5`,
    );
    await push();
    await rule('ask');
    const others = (await read(start)).filter(({own}) => !own);
    expect(others).toMatchObject([{change: null}, {change: null}]);
    for (const {fields} of others) expect(fields).toContain('service_city');
  });

  test('all entries caused by an edited customer name refer to its change', async () => {
    const start = await end();
    const change = await write(
      `UPDATE warehouse.customers SET name = 'Another Name' WHERE customer_number = 6`,
    );
    await push();
    const entries = await read(start);
    expect(entries.flatMap(({fields}) => fields)).toContain('updated_at');
    for (const entry of entries) expect(entry).toMatchObject({change});
  });

  test('notes read back together name their own changes; a dispatcher’s names none', async () => {
    const [job] = (
      await world.pool.query<{job_number: number; id: string}>(
        'SELECT job_number, id FROM warehouse.jobs WHERE _deleted_at IS NULL ORDER BY 1 LIMIT 1',
      )
    ).rows;
    const {job_number: number} = job ?? {};
    await people.query(
      `INSERT INTO service.notes (fields) VALUES (jsonb_build_object('id', 987654,
         'noteable_type', 'Job', 'noteable_id', $1::bigint, 'note', 'By a dispatcher'))`,
      [job?.id],
    );
    const start = await end();
    const [one, two] = [
      await write(`INSERT INTO warehouse.job_notes (job_number, note) VALUES (${number}, 'One')`),
      await write(`INSERT INTO warehouse.job_notes (job_number, note) VALUES (${number}, 'Two')`),
    ];
    await push();
    const notes = (await world.pool.query('SELECT row_id, note FROM warehouse.job_notes')).rows;
    await world.pool.query('SELECT sync.sequence_feed()');
    const entries = await readEntries(world.pool, start, ['job_notes']);
    const causes = (text: string) => {
      const rowId = notes.find(({note}) => note === text)?.row_id;
      return new Set(entries.filter((each) => each.row_id === rowId).map((each) => each.change_id));
    };
    expect(['One', 'Two', 'By a dispatcher'].map(causes)).toEqual([
      new Set([one]),
      new Set([two]),
      new Set([null]),
    ]);
  });

  test('a create and the values that the service assigns name its change', async () => {
    const start = await end();
    const change = await write(`INSERT INTO warehouse.customers (name) VALUES ('A new one')`);
    await push();
    const entries = await read(start);
    expect(entries[0]).toMatchObject({operation: 'created', own: true, change});
    expect(entries[1]?.fields).toContain('customer_number');
    expect(entries.length).toBeGreaterThan(1);
    for (const entry of entries) expect(entry.change, JSON.stringify(entry)).toBe(change);
  });

  test('the removals of a deleted record and its child rows name its change', async () => {
    const {rows} = await world.pool.query(
      `SELECT job_number FROM warehouse.jobs AS job
       WHERE EXISTS (SELECT FROM warehouse.job_charges AS line
        WHERE line.job_number = job.job_number) ORDER BY 1 LIMIT 1`,
    );
    const start = await end();
    const change = await write(
      `DELETE FROM warehouse.jobs WHERE job_number = ${rows[0].job_number}`,
    );
    await push();
    const entries = await read(start);
    expect(entries[0]).toMatchObject({table: 'jobs', operation: 'removed', own: true, change});
    expect(entries.map(({table}) => table)).toContain('job_charges');
    for (const entry of entries) expect(entry).toMatchObject({operation: 'removed', change});
  });

  test('an assignment by a dispatcher is not attributed to a change of the job', async () => {
    const {rows} = await world.pool.query(
      `SELECT job_number, id FROM warehouse.jobs AS job
        WHERE _deleted_at IS NULL AND job_number > 20
        AND NOT EXISTS (SELECT FROM warehouse.job_employees AS held
          WHERE held.job_number = job.job_number) ORDER BY 1 LIMIT 1`,
    );
    const [{job_number: number}] = rows;
    await people.query(
      `UPDATE service.jobs SET employee_ids = (SELECT array_agg(id)
        FROM (SELECT id FROM service.employees ORDER BY id LIMIT 1) AS one)
        WHERE fields ->> 'job_number' = $1`,
      [number],
    );
    const start = await end();
    const change = await write(
      `UPDATE warehouse.jobs SET name = 'Another name' WHERE job_number = ${number}`,
    );
    await push();
    const entries = await read(start);
    expect(entries[0]).toMatchObject({table: 'jobs', own: true, change});
    expect(entries.filter(({table}) => table === 'job_employees')).toMatchObject([
      {operation: 'created', own: false, change: null},
    ]);
  });

  test('an assignment by an author and its effects at the service name their change', async () => {
    const {rows} = await world.pool.query(
      `SELECT job_number FROM warehouse.jobs AS job
        WHERE _deleted_at IS NULL AND job_number > 20
        AND NOT EXISTS (SELECT FROM warehouse.job_employees AS held
          WHERE held.job_number = job.job_number) ORDER BY 1 LIMIT 1`,
    );
    const start = await end();
    const change = await write(
      `INSERT INTO warehouse.job_employees (job_number, employee_id) SELECT ${rows[0].job_number},
        min(id) FROM warehouse.employees`,
    );
    await push();
    const entries = await read(start);
    expect(entries[0]).toMatchObject({
      table: 'job_employees',
      operation: 'created',
      own: true,
      change,
    });
    for (const entry of entries) expect(entry).toMatchObject({change});
  });
});
