// Changes as a user's commands show them.

import {describe, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {
  asSweep,
  changes,
  database,
  editPhone,
  pool,
  putInConflict,
  set,
  told,
  useChangesPlace,
} from './changes-place.ts';

useChangesPlace();

describe('changes list', () => {
  test('lists conflicts first, then other open changes, then settled ones', async () => {
    const [done, rejected, waiting, fought] = [
      await editPhone(1),
      await editPhone(2),
      await editPhone(3),
      await editPhone(4),
    ];
    await set(
      done,
      `state = 'done', settled_at = now(), result = '{"altered": {"phone_number": {}}}'`,
    );
    await set(
      rejected,
      `state = 'rejected', settled_at = now(), reason = 'Phone number is invalid'`,
    );
    await putInConflict(fought);
    const {stdout} = await changes('list');
    expect(stdout.split('\n').filter((line) => /│ \d/.test(line))).toEqual([
      expect.stringMatching(
        /│ 4 +│ .* ago │ update customers 4 │ phone_number │ conflict │ changed on both/,
      ),
      expect.stringMatching(/│ 3 +│ .* ago │ update customers 3 │ phone_number │ pending +│ +│/),
      expect.stringMatching(
        /│ 2 +│ .* ago │ update customers 2 │ .* │ rejected │ Phone number is invalid/,
      ),
      expect.stringMatching(
        /│ 1 +│ .* ago │ update customers 1 │ .* │ altered +│ the service altered phone_number/,
      ),
    ]);
    expect((await told('list', '--limit', '1')).changes).toMatchObject([{changeId: fought}]);
    expect((await told('list', '--state', 'pending')).changes).toMatchObject([{changeId: waiting}]);
    expect((await told('list', '--table', 'jobs', '--account', 'acme')).changes).toEqual([]);
  });

  test('fits 110 columns, however long the values are', async () => {
    await pool.query(
      `UPDATE warehouse.customers SET name = 'x', phone_number = 'y', email_address = 'z', fax = 'f'
        WHERE customer_number = 1`,
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
    expect(await changes(...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(words),
    });
  });
});

describe('changes show', () => {
  test('prints the author, the application, the values and the exact request', async () => {
    await pool.query(
      `UPDATE warehouse.customers SET external_key = 'ERP-7' WHERE customer_number = 7`,
    );
    const id = await editPhone(7, '555 <&> 1');
    const {code, stdout} = await changes('show', id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^change 1 of account acme: update customers 7\n {2}state +pending\n/);
    expect(stdout).toMatch(
      /made +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(.* ago\) by \w+, from erp-bridge\n/,
    );
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

  test('prints the change it waits for, and … for a number that is not known yet', async () => {
    await pool.query(
      `WITH customer AS (INSERT INTO warehouse.customers (name) VALUES ('New') RETURNING row_id)
       INSERT INTO warehouse.jobs (name, scheduled_on, parent_row_id) SELECT 'Roof',
         '2031-07-04 13:00+00', row_id FROM customer`,
    );
    const {stdout} = await changes('show', '2');
    expect(stdout).toMatch(/waits for +change 1: create customers, row 10, pending\n/);
    expect(stdout).toMatch(/next +it is sent once change 1 is done, which is pending now\n/);
    expect(stdout).toContain('POST /customers/…/jobs.xml');
    expect(stdout).toContain(
      '<job><name>Roof</name><scheduled_on>7/4/31 09:00am</scheduled_on></job>',
    );
    expect((await changes('show', '1')).stdout).toMatch(/holds up +change 2\n/);
  });

  test('prints every attempt, the checks and the values that the service altered', async () => {
    const id = await editPhone(1);
    await pool.query(
      `INSERT INTO sync.attempts (change_id, fence, method, path, started_at, ended_at, outcome,
        status, answer)
       VALUES ($1, 1, 'PUT', '/customers/1.xml', '2026-11-02 08:00+00', '2026-11-02 08:00:01.5+00',
         'refused', 422, 'Phone number is odd'),
              ($1, 2, 'PUT', '/customers/1.xml', '2026-11-02 08:05+00', NULL, NULL, NULL, NULL)`,
      [id],
    );
    const result = {altered: {phone_number: {sent: '555-0199 ', got: '555-0199'}}, unsent: ['fax']};
    await set(
      id,
      `state = 'done', settled_at = now(), checks = 3, result = '${JSON.stringify(result)}'`,
    );
    const {stdout} = await changes('show', id);
    expect(stdout).toMatch(/state +altered \d{4}-/);
    expect(stdout).toMatch(
      inSequence(
        /sent +2026-11-02 08:00:00 UTC {2}PUT \/customers\/1\.xml: 422, refused, after 1\.5 s\n/,
        / +Phone number is odd\n +2026-11-02 08:05:00 UTC .*: its worker was lost\n/,
      ),
    );
    expect(stdout).toMatch(/checked +3 times whether it had arrived\n/);
    expect(stdout).toMatch(/came back +phone_number: sent "555-0199 ", it keeps "555-0199"\n/);
    expect(stdout).toMatch(/not sent, for the service held it already: fax\n/);
    expect(stdout).not.toContain('next');
    expect(stdout).not.toContain('would send');
  });

  test('never prints a password', async () => {
    await asSweep(
      `INSERT INTO warehouse.employees (employee_number, name, _sweep_id, _hash)
       VALUES (3, 'Ann', 1, '\\x00')`,
    );
    await pool.query(
      `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base)
       VALUES (1, 'employees', 1, 'update', 3, '{"password": "canary-word"}',
               '{"password": "canary-before"}')`,
    );
    const printed = [];
    for (const args of [['show', '1'], ['list']])
      for (const more of [[], ['--json']]) printed.push((await changes(...args, ...more)).stdout);
    const dry = await runCommand(['push', '--dry-run'], {DATABASE_URL: database.url});
    expect(printed.join('') + dry.stdout + dry.stderr).not.toContain('canary');
    expect(printed[0]).toMatch(/wants +password {2}\(set\)\n/);
  });
});
