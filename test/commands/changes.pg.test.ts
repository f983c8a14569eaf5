// Looking after changes, by the commands a user types. Changes are made by plain SQL; what a worker would have done to
// them is set by hand.

import type pg from 'pg';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {openPool} from '../../src/warehouse/postgres/database.ts';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;

beforeEach(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(database.url, {max: 2, applicationName: 'erp-bridge'});
  await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone) VALUES ('acme', 'https://example.com/acme', 'America/New_York')`,
  );
  await asSweep(
    `INSERT INTO warehouse.customers (customer_number, name, phone_number, email_address, _sweep_id, _page, _hash)
     SELECT n, 'Customer ' || n, '555-' || n, n || '@example.com', 1, 1, '\\x00' FROM generate_series(1, 9) AS n`,
  );
});

afterEach(async () => {
  await pool.end();
  await database.drop();
});

const changes = (...args: string[]) => runCommand(['changes', ...args], {DATABASE_URL: database.url});

async function told(...args: string[]) {
  const ended = await changes(...args, '--json');
  expect(ended.stderr).toBe('');
  return JSON.parse(ended.stdout);
}

/** Writes as a worker does. */
async function asSweep(statement: string): Promise<void> {
  await pool.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'; ${statement}; COMMIT`);
}

/** Edits a customer's phone number as an ERP does. @returns the number of the change */
async function editPhone(number: number, phone = '555-0199'): Promise<string> {
  const statement = `UPDATE warehouse.customers SET phone_number = $2 WHERE customer_number = $1`;
  await pool.query(statement, [number, phone]);
  return await lastChange();
}

async function addCustomer(fields = `name = 'New'`): Promise<string> {
  const [column, value] = fields.split(' = ');
  await pool.query(`INSERT INTO warehouse.customers (${column}) VALUES (${value})`);
  return await lastChange();
}

async function lastChange(): Promise<string> {
  const {rows} = await pool.query('SELECT max(change_id) AS id FROM sync.changes');
  return rows[0].id;
}

/** What a worker would have made of a change. */
async function set(id: string, values: string): Promise<void> {
  await pool.query(`UPDATE sync.changes SET ${values} WHERE change_id = $1`, [id]);
}

async function stateOf(id: string): Promise<string> {
  const {rows} = await pool.query('SELECT state FROM sync.changes WHERE change_id = $1', [id]);
  return rows[0].state;
}

async function putInConflict(id: string, field = 'phone_number'): Promise<void> {
  await set(id, `state = 'conflict', reason = 'changed on both sides: ${field}'`);
  await pool.query(
    `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value, rule)
     VALUES ($1, $2, '"555-1"', '"555-0199"', '"555-0300"', 'ask')`,
    [id, field],
  );
}

describe('changes list', () => {
  test('shows what is under way first, a conflict before all, and then what is settled, the latest first', async () => {
    const [done, rejected, waiting, fought] = [
      await editPhone(1),
      await editPhone(2),
      await editPhone(3),
      await editPhone(4),
    ];
    await set(done, `state = 'done', settled_at = now(), result = '{"altered": {"phone_number": {}}}'`);
    await set(rejected, `state = 'rejected', settled_at = now(), reason = 'Phone number is invalid'`);
    await putInConflict(fought);
    const {stdout} = await changes('list');
    expect(stdout.split('\n').filter((line) => /│ \d/.test(line))).toEqual([
      expect.stringMatching(/│ 4 +│ .* ago │ update customers 4 │ phone_number │ conflict │ changed on both/),
      expect.stringMatching(/│ 3 +│ .* ago │ update customers 3 │ phone_number │ pending +│ +│/),
      expect.stringMatching(/│ 2 +│ .* ago │ update customers 2 │ .* │ rejected │ Phone number is invalid/),
      expect.stringMatching(
        /│ 1 +│ .* ago │ update customers 1 │ .* │ altered +│ the service altered phone_number/,
      ),
    ]);
    expect((await told('list', '--limit', '1')).changes).toMatchObject([{changeId: fought}]);
    expect((await told('list', '--state', 'pending')).changes).toMatchObject([{changeId: waiting}]);
    expect((await told('list', '--table', 'jobs', '--account', 'acme')).changes).toEqual([]);
  });

  test('fits 110 columns, however much there is to say', async () => {
    await pool.query(
      `UPDATE warehouse.customers SET name = 'x', phone_number = 'y', email_address = 'z', fax = 'f' WHERE customer_number = 1`,
    );
    await set('1', `state = 'conflict', reason = '${'word '.repeat(60)}'`);
    const {stdout} = await changes('list');
    for (const line of stdout.trimEnd().split('\n')) expect(line).toHaveLength(110);
    expect(stdout).toMatch(/│ fax, name, phone_number \+1 │/);
  });

  test.each([
    [['list', '--state', 'pendign'], /no state "pendign" \(did you mean pending\?\)/],
    [['list', '--table', 'job'], /no table "job" \(did you mean jobs\?\) that can be written back/],
    [['list', '--account', 'acne'], /no account "acne" \(did you mean acme\?\)/],
    [['show', '99'], /no change "99"; fieldmirror changes list/],
    [['show', 'x'], /no change "x"/],
    [['resolve', '1'], /expected one of --take service, .*, got none; fieldmirror changes show 1/],
    [['resolve', '1', '--resend', '--take', 'service'], /got --take service and --resend/],
    [['resolve', '1', '--adopt', 'x'], /--adopt: expected the number of a record, got "x"/],
    [['resolve', '1', '2', '--adopt', '5'], /--adopt: expected one change, got 2/],
  ])('changes %j is refused with exit code 2', async (args, words) => {
    expect(await changes(...args)).toMatchObject({code: 2, stdout: '', stderr: expect.stringMatching(words)});
  });
});

describe('changes show', () => {
  test('tells who made it and from where, what was and is wanted, and the exact request', async () => {
    await pool.query(`UPDATE warehouse.customers SET external_key = 'ERP-7' WHERE customer_number = 7`);
    const id = await editPhone(7, '555 <&> 1');
    const {code, stdout} = await changes('show', id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^change 1 of account acme: update customers 7\n {2}state +pending\n/);
    expect(stdout).toMatch(/made +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(.* ago\) by \w+, from erp-bridge\n/);
    expect(stdout).toMatch(/row +row 7 of warehouse\.customers, external key ERP-7\n/);
    expect(stdout).toMatch(/wants +phone_number {2}"555-7" → "555 <&> 1"\n/);
    expect(stdout).toMatch(/next +it is sent as soon as a worker takes it up\n +fieldmirror push /);
    const request = '<customer><phone_number>555 &lt;&amp;&gt; 1</phone_number></customer>';
    expect(stdout).toMatch(
      /would send PUT \/customers\/7\.xml\n +<\?xml version="1\.0" encoding="UTF-8"\?>\n/,
    );
    expect(stdout).toContain(request);
    expect((await told('show', id)).request).toEqual({
      changeId: id,
      method: 'PUT',
      path: '/customers/7.xml',
      body: `<?xml version="1.0" encoding="UTF-8"?>\n${request}\n`,
    });
  });

  test('tells what it waits for, and prints … for a number that nobody knows yet', async () => {
    await pool.query(
      `WITH customer AS (INSERT INTO warehouse.customers (name) VALUES ('New') RETURNING row_id)
       INSERT INTO warehouse.jobs (name, scheduled_on, parent_row_id) SELECT 'Roof', '2031-07-04 13:00+00', row_id FROM customer`,
    );
    const {stdout} = await changes('show', '2');
    expect(stdout).toMatch(/waits for +change 1: create customers, row 10, pending\n/);
    expect(stdout).toMatch(/next +it is sent once change 1 is done, which is pending now\n/);
    expect(stdout).toContain('POST /customers/…/jobs.xml');
    expect(stdout).toContain('<job><name>Roof</name><scheduled_on>7/4/31 09:00am</scheduled_on></job>');
    expect((await changes('show', '1')).stdout).toMatch(/holds up +change 2\n/);
  });

  test('tells every attempt with the words of the service, the looks, and what the service altered', async () => {
    const id = await editPhone(1);
    await pool.query(
      `INSERT INTO sync.attempts (change_id, fence, method, path, started_at, ended_at, outcome, status, answer)
       VALUES ($1, 1, 'PUT', '/customers/1.xml', '2026-11-02 08:00+00', '2026-11-02 08:00:01.5+00', 'refused', 422, 'Phone number is odd'),
              ($1, 2, 'PUT', '/customers/1.xml', '2026-11-02 08:05+00', NULL, NULL, NULL, NULL)`,
      [id],
    );
    const result = {altered: {phone_number: {sent: '555-0199 ', got: '555-0199'}}, unsent: ['fax']};
    await set(id, `state = 'done', settled_at = now(), looks = 3, result = '${JSON.stringify(result)}'`);
    const {stdout} = await changes('show', id);
    expect(stdout).toMatch(/state +altered \d{4}-/);
    expect(stdout).toMatch(
      /sent +2026-11-02 08:00:00 UTC {2}PUT \/customers\/1\.xml: 422, refused, after 1\.5 s\n +Phone number is odd\n +2026-11-02 08:05:00 UTC .*: its worker was lost\n/,
    );
    expect(stdout).toMatch(/looked +3 times whether it had arrived\n/);
    expect(stdout).toMatch(/came back +phone_number: sent "555-0199 ", it keeps "555-0199"\n/);
    expect(stdout).toMatch(/not sent, for the service held it already: fax\n/);
    expect(stdout).not.toContain('next');
    expect(stdout).not.toContain('would send');
  });

  test('never prints a password', async () => {
    await asSweep(
      `INSERT INTO warehouse.employees (employee_number, name, _sweep_id, _hash) VALUES (3, 'Ann', 1, '\\x00')`,
    );
    await pool.query(
      `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base)
       VALUES (1, 'employees', 1, 'update', 3, '{"password": "canary-word"}', '{"password": "canary-before"}')`,
    );
    const printed = [];
    for (const args of [['show', '1'], ['list']])
      for (const more of [[], ['--json']]) printed.push((await changes(...args, ...more)).stdout);
    const dry = await runCommand(['push', '--dry-run'], {DATABASE_URL: database.url});
    expect(printed.join('') + dry.stdout + dry.stderr).not.toContain('canary');
    expect(printed[0]).toMatch(/wants +password {2}\(set\)\n/);
  });
});

describe('changes retry, hold, release, cancel', () => {
  test('do the same to several changes, and tell which of them could not', async () => {
    const [one, two, done] = [await editPhone(1), await editPhone(2), await editPhone(3)];
    await set(done, `state = 'done', settled_at = now()`);
    expect(await changes('hold', one, done, '99', two)).toEqual({
      code: 2,
      stdout: `change ${one} is held\nchange ${two} is held\n`,
      stderr: `change ${done}: expected pending to hold it, got done\nno change "99"; fieldmirror changes list shows what there is\n`,
    });
    expect(await changes('release', two)).toMatchObject({
      code: 0,
      stdout: `change ${two} is pending: a worker sends it, or fieldmirror push\n`,
    });
    const refused = await changes('release', one, done, '--json');
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.stdout).changes).toEqual([
      {changeId: one, state: 'pending'},
      {changeId: done, error: `change ${done}: expected held to release it, got done`},
    ]);
  });

  test('retry says with the hint of the warehouse why a refused one cannot be sent again', async () => {
    const id = await editPhone(1);
    await set(id, `state = 'rejected', settled_at = now(), reason = 'no'`);
    expect(await changes('retry', id)).toMatchObject({code: 0});
    await set(id, `state = 'rejected', settled_at = now(), reason = 'no'`);
    await editPhone(1, '555-0200');
    expect(await changes('retry', id)).toMatchObject({
      code: 2,
      stderr: `change ${id}: a later change of the same record has overtaken it; Change the row again instead.\n`,
    });
  });

  test('cancel gives the row back what it held, and keeps the reason', async () => {
    const id = await editPhone(1);
    expect(await changes('cancel', id, '--reason', 'typed wrongly')).toMatchObject({code: 0});
    expect((await changes('show', id)).stdout).toMatch(/state +cancelled .*: typed wrongly\n/);
    const {rows} = await pool.query('SELECT phone_number FROM warehouse.customers WHERE customer_number = 1');
    expect(rows).toEqual([{phone_number: '555-1'}]);
  });
});

describe('changes accept', () => {
  test('lets go on what was held for what the service altered; release does not', async () => {
    const [altered, held] = [await editPhone(1), await editPhone(2)];
    await set(
      altered,
      `state = 'done', settled_at = now(), result = '{"altered": {"phone_number": {"sent": "1", "got": "2"}}}'`,
    );
    await set(held, `state = 'held', held_for = 'customers.phone_number', reason = 'somebody looks first'`);
    await pool.query(
      `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
       SELECT change_id, account_id, 'phone_number', 'customers.phone_number', '"1"', '"2"', true FROM sync.changes WHERE change_id = $1`,
      [altered],
    );
    const status = async () => await runCommand(['status'], {DATABASE_URL: database.url});
    expect(await status()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`change ${altered} was altered by the service`),
    });
    expect((await changes('show', held)).stdout).toContain('fieldmirror changes list --state altered');
    expect(await changes('release', held)).toMatchObject({
      code: 2,
      stderr: `change ${held}: somebody looks first; fieldmirror changes list --state altered\n`,
    });
    expect((await changes('show', altered)).stdout).toContain(`fieldmirror changes accept ${altered}`);
    expect(await changes('accept', altered)).toMatchObject({
      code: 0,
      stdout: `change ${altered} is done: accepted, and further changes of that kind go on\n`,
    });
    expect(await stateOf(held)).toBe('pending');
    expect(await status()).toMatchObject({code: 0});
    expect(await changes('accept', held)).toMatchObject({code: 2});
  });
});

describe('changes resolve', () => {
  test('is offered with both values, and sends ours or keeps theirs', async () => {
    const [ours, theirs] = [await editPhone(1), await editPhone(2)];
    await putInConflict(ours);
    await putInConflict(theirs);
    const {stdout} = await changes('show', ours);
    expect(stdout).toMatch(
      /conflict +phone_number, changed on both sides from "555-1"\n +here +"555-0199"\n +at service +"555-0300"\n +rule ask: nobody has decided yet\n/,
    );
    expect(stdout).toMatch(/resolve 1 --take service .*\n +fieldmirror changes resolve 1 --take warehouse /);
    expect(await changes('resolve', ours, '--take', 'warehouse')).toMatchObject({code: 0});
    expect(await stateOf(ours)).toBe('pending');
    expect((await changes('show', ours)).stdout).toMatch(
      /rule ask: the warehouse's value counts, decided .* by/,
    );
    expect(await changes('resolve', theirs, '--take', 'service')).toMatchObject({code: 0});
    expect(await stateOf(theirs)).toBe('cancelled');
  });

  test('of a create adopts a record or sends once more, and says what fits when another way is asked for', async () => {
    const [adopted, resent] = [await addCustomer(), await addCustomer(`name = 'Other'`)];
    const result = `result = '{"candidates": ["12", "15"]}'`;
    await set(adopted, `state = 'conflict', reason = 'several match', sends = 1, sent_at = now(), ${result}`);
    await set(resent, `state = 'conflict', reason = 'no trace', sends = 2, sent_at = now()`);
    expect((await changes('show', adopted)).stdout).toMatch(/may be +customers 12, 15\n/);
    expect(await changes('resolve', adopted, '--take', 'warehouse')).toMatchObject({
      code: 2,
      stderr: `change ${adopted}: expected --adopt NUMBER or --resend or --take service, got --take warehouse\n`,
    });
    expect(await changes('resolve', adopted, '--adopt', '12')).toMatchObject({
      code: 0,
      stdout: `change ${adopted} is in doubt: a worker looks whether it arrived, or fieldmirror push\n`,
    });
    expect(await changes('resolve', resent, '--resend')).toMatchObject({code: 0});
    expect(await stateOf(resent)).toBe('pending');
    expect(await changes('resolve', resent, '--resend')).toMatchObject({
      code: 2,
      stderr: `change ${resent}: expected conflict to resolve it, got pending\n`,
    });
  });
});
