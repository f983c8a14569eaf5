// The verb `push`, its part in `start --once`, and the words of `explain` afterwards: with the real
// engine against the reference service.

import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';

let place: Place;
let pool: pg.Pool;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  pool = openPool(place.databaseUrl, {max: 2, applicationName: 'erp-bridge'});
  expect(await run('sync', 'customers')).toMatchObject({code: 0});
});

afterAll(async () => {
  await pool?.end();
  await place?.close();
});

const run = (...args: string[]) => runCommand(args, place.env);

async function told(...args: string[]) {
  const ended = await run(...args, '--json');
  expect(ended.stderr).toBe('');
  return {code: ended.code, ...JSON.parse(ended.stdout)};
}

async function queryService(statement: string, ...values: unknown[]) {
  const service = openPool(place.service.databaseUrl, {max: 1, applicationName: 'test'});
  const {rows} = await service.query(statement, values);
  await service.end();
  return rows;
}

async function edit(number: number, column: string, value: string): Promise<void> {
  await pool.query(`UPDATE warehouse.customers SET ${column} = $2 WHERE customer_number = $1`, [
    number,
    value,
  ]);
}

async function lastChange(): Promise<string> {
  const {rows} = await pool.query('SELECT max(change_id) AS id FROM sync.changes');
  return rows[0].id;
}

describe('push', () => {
  test('--dry-run prints every request and its dependencies, and sends nothing', async () => {
    expect((await run('push', '--dry-run')).stdout).toBe('nothing waits to be sent\n');
    const journal = 'SELECT count(*) FROM service.journal';
    const before = await queryService(journal);
    await pool.query(
      `WITH customer AS (INSERT INTO warehouse.customers (name, external_key)
        VALUES ('Harbor & Sons', 'ERP-77') RETURNING row_id),
            job AS (INSERT INTO warehouse.jobs (name, parent_row_id) SELECT 'Roof', row_id
              FROM customer RETURNING row_id)
       INSERT INTO warehouse.job_notes (note, parent_row_id) SELECT 'Ring twice', row_id FROM job`,
    );
    await pool.query(
      `BEGIN; SET LOCAL fieldmirror.mode = 'hold'; DELETE FROM warehouse.customers
        WHERE customer_number = 9; COMMIT`,
    );
    const {code, stdout} = await run('push', '--dry-run', '--account', await accountName());
    expect(code).toBe(0);
    expect(stdout).toBe(`change 1: create customers (ERP-77), pending
  POST /customers.xml
  <?xml version="1.0" encoding="UTF-8"?>
  <customer><name>Harbor &amp; Sons</name></customer>

change 2: create jobs, row 1, pending, waits for change 1
  POST /customers/…/jobs.xml
  <?xml version="1.0" encoding="UTF-8"?>
  <job><name>Roof</name></job>

change 3: create job_notes, row 1, pending, waits for change 2
  POST /jobs/…/notes.xml
  <?xml version="1.0" encoding="UTF-8"?>
  <note><note>Ring twice</note></note>

change 4: delete customers 9, held
  DELETE /customers/9.xml

4 requests; nothing was sent
`);
    expect((await told('push', '--dry-run')).requests[1]).toEqual({
      changeId: '2',
      change: 'create jobs, row 1',
      state: 'pending',
      waitsFor: '1',
      method: 'POST',
      path: '/customers/…/jobs.xml',
      body: '<?xml version="1.0" encoding="UTF-8"?>\n<job><name>Roof</name></job>\n',
    });
    expect(await queryService(journal)).toEqual(before);
  });

  test('sends due changes and leaves held ones', async () => {
    const {code, stdout} = await run('push');
    expect({code, stdout}).toEqual({
      code: 0,
      stdout: `${await accountName()}  3 done; still open: 1 held\n`,
    });
    const {rows} = await pool.query(
      `SELECT customer_number AS number FROM warehouse.customers WHERE external_key = 'ERP-77'`,
    );
    const found = `SELECT fields->>'name' AS name FROM service.customers
      WHERE customer_number = $1`;
    expect(await queryService(found, rows[0].number)).toEqual([{name: 'Harbor & Sons'}]);
  });

  test('exits with 1 and names the changes that were refused or need a decision', async () => {
    // A record with a value that the service itself would not take: every change of it is refused.
    await queryService(
      `UPDATE service.customers SET fields = fields || '{"name": ""}' WHERE customer_number = 5`,
    );
    await edit(5, 'fax', '555-0105');
    const refused = await lastChange();
    await edit(6, 'phone_number', '555-0199');
    const fought = await lastChange();
    await queryService(
      `UPDATE service.customers SET fields = fields || '{"phone_number": "555-0300"}'
        WHERE customer_number = 6`,
    );
    const {code, stdout} = await run('push');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      / {2}1 refused, 1 needs a decision; still open: 1 conflict, 1 held\n\nNeeds a person:\n/,
    );
    expect(stdout).toMatch(
      new RegExp(
        `  change ${refused}, update customers 5, rejected: .*blank\\n` +
          `    fieldmirror changes show ${refused}\\n`,
      ),
    );
    expect(stdout).toContain(`  change ${fought}, update customers 6, conflict: `);
    const again = await told('push');
    expect(again).toMatchObject({
      code: 1,
      accounts: [{done: 0, rejected: 0}],
      needy: [{changeId: fought}],
    });
    expect(await run('changes', 'resolve', fought, '--take', 'warehouse')).toMatchObject({code: 0});
    expect(await told('push')).toMatchObject({code: 0, accounts: [{done: 1}], needy: []});
    const phone = `SELECT fields->>'phone_number' AS phone FROM service.customers
      WHERE customer_number = 6`;
    expect(await queryService(phone)).toEqual([{phone: '555-0199'}]);
  });

  test('rejects an unknown or a paused account', async () => {
    expect(await run('push', '--account', 'nobody')).toMatchObject({code: 2});
    const name = await accountName();
    await run('accounts', 'pause', name);
    expect(await run('push', '--account', name)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('is paused'),
    });
    await run('accounts', 'resume', name);
  });
});

test('start --once sends due changes after the sweeps, and reports them', async () => {
  await edit(7, 'phone_number', '555-0107');
  const {code, stdout} = await run('start', '--once');
  expect(code).toBe(0);
  expect(stdout).toMatch(/changes made here\n\S+ {2}1 done; still open: 1 held\n\n/);
});

describe('explain', () => {
  test('shows which change wants a pending value, and the last value of the service', async () => {
    const {rows} = await pool.query(
      'SELECT fax FROM warehouse.customers WHERE customer_number = 8',
    );
    await edit(8, 'fax', '555-0108');
    const id = await lastChange();
    await asHeld(id);
    // A sweep writes around the field: the row that it leaves differs from the service's record.
    await queryService(
      `UPDATE service.customers SET fields = fields || '{"pager": "1"}' WHERE customer_number = 8`,
    );
    await run('sync', 'customers', '--record', '8');
    const wanted = {changeId: id, operation: 'update', state: 'held', lastSaid: rows[0].fax};
    expect(await told('explain', 'customers', '8', 'fax')).toMatchObject({
      value: '555-0108',
      writer: {kind: 'edit', application: 'erp-bridge'},
      lastKnownTrue: null,
      wanted,
    });
    const {stdout} = await run('explain', 'customers', '8', 'fax');
    expect(stdout).toMatch(
      new RegExp(
        `on its way +wanted by change ${id} since \\S+Z \\(.* ago\\), held; ` +
          'the service last said .+\\n',
      ),
    );
    expect(stdout).toContain(`last true    not yet: fieldmirror changes show ${id}\n`);
    expect((await told('explain', 'customers', '8', 'name')).wanted).toBeNull();
    expect((await told('explain', 'customers', '8', 'pager')).writer).toMatchObject({
      kind: 'sweep',
      mode: 'record',
    });
    const row = (await run('explain', 'customers', '8')).stdout;
    expect(row).toMatch(
      new RegExp(`Z  update wanted by change ${id}, held\\n    fax: .* → "555-0108"\\n$`),
    );
  });

  test('shows which change wrote a value, when, and what the service answered', async () => {
    const told7 = await told('explain', 'customers', '7', 'phone_number');
    expect(told7).toMatchObject({
      value: '555-0107',
      wanted: null,
      writer: {kind: 'change', operation: 'update', state: 'done', status: 200},
    });
    const {changeId, sentAt, requestedBy} = told7.writer;
    const {stdout} = await run('explain', 'customers', '7', 'phone_number');
    expect(stdout).toContain(
      `written by   change ${changeId} ` +
        `(update customers by ${requestedBy}, sent ${sentAt}, answered 200)\n`,
    );
    expect(stdout).toMatch(
      /last true +\S+Z \(.* ago\), when (it was read back|sweep \d+ .* began)\n/,
    );
    const other = (await run('explain', 'customers', '7', 'name')).stdout;
    expect(other).not.toContain('by change');
  });

  test('shows that the end of a rejected change, not an edit, restored a value', async () => {
    const {events} = await told('explain', 'customers', '5');
    const changed = events.filter((event: {changes: {field: string}[]}) =>
      event.changes.some(({field}) => field === 'fax'),
    );
    const fax = (sides: object) =>
      expect.arrayContaining([expect.objectContaining({field: 'fax', ...sides})]);
    expect(changed).toMatchObject([
      {what: 'changed', writer: {kind: 'edit'}, changes: fax({to: '555-0105'})},
      {
        what: 'changed',
        writer: {kind: 'change', state: 'rejected', isReadBack: false},
        changes: fax({from: '555-0105'}),
      },
    ]);
    const row = (await run('explain', 'customers', '5')).stdout;
    expect(row).toMatch(
      /by the end of change \d+ .*, which was rejected: what was before it came back\n/,
    );
    const {lastKnownTrue} = await told('explain', 'customers', '5', 'fax');
    expect(lastKnownTrue).not.toBeNull();
  });
});

async function asHeld(id: string): Promise<void> {
  expect(await run('changes', 'hold', id)).toMatchObject({code: 0});
}

async function accountName(): Promise<string> {
  const {rows} = await pool.query('SELECT name FROM sync.accounts');
  return rows[0].name;
}
