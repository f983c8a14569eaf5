// The stored records, their visibility, and their entries in the journal.

import {createServer} from 'node:net';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {FatalError, UsageError} from '../../src/core/errors.ts';
import {startService} from '../../src/service/server.ts';
import {column, field, openSandbox, type Sandbox, within} from './sandbox.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

describe('a restart', () => {
  test('loses nothing: records, numbers, assignments, tokens', async () => {
    const customer = await sandbox.send(
      'POST',
      '/customers.xml',
      '<customer><name>kept</name></customer>',
    );
    const path = `/customers/${field(customer, 'customer_number')}`;
    const list = '<employee_ids type="array"><employee_id>1003</employee_id></employee_ids>';
    await sandbox.send('POST', `${path}/jobs.xml`, `<job><name>kept</name>${list}</job>`);
    const paths = [
      `${path}.xml`,
      `${path}/jobs.xml?include=employees`,
      '/employees.xml',
      '/tasks.xml',
      '/customers.xml?include=notes',
    ];
    const before = await Promise.all(paths.map((one) => sandbox.get(one)));
    const {token} = sandbox.service;
    await sandbox.restart();
    const after = await Promise.all(paths.map((one) => sandbox.get(one)));
    expect(after.map(({text}) => text)).toEqual(before.map(({text}) => text));
    expect(sandbox.service.token).toBe(token);
    const next = await sandbox.send(
      'POST',
      '/customers.xml',
      '<customer><name>next</name></customer>',
    );
    expect(Number(field(next, 'customer_number'))).toBeGreaterThan(
      Number(field(customer, 'customer_number')),
    );
  });
});

describe('an empty database', () => {
  test('has an owner who can log in, and the categories that a job needs', async () => {
    const empty = await openSandbox({isEmpty: true});
    expect((await empty.get('/customers.xml')).root.elements).toEqual([]);
    expect(column((await empty.get('/employees.xml')).root, 'is_account_owner')).toEqual(['true']);
    const customer = await empty.send(
      'POST',
      '/customers.xml',
      '<customer><name>first</name></customer>',
    );
    expect(field(customer, 'customer_number')).toBe('1');
    const body =
      '<job><name>j</name><job_type_id>101</job_type_id><job_status_id>201</job_status_id></job>';
    await empty.send('POST', '/customers/1/jobs.xml', body);
    const job = (await empty.get('/jobs/1.xml?include=job_type,job_status')).root;
    expect([
      field(within(job, 'job_type'), 'name'),
      field(within(job, 'job_status'), 'name'),
    ]).toEqual(['Heating repair', 'Waiting for parts']);
    await empty.close();
  });
});

describe('lists', () => {
  test('show the writes of other sessions', async () => {
    const names = async () =>
      column((await sandbox.get('/jobs.xml?state=in_progress&only=name')).root, 'name');
    const before = await names();
    await sandbox.sql(`UPDATE service.jobs SET fields = fields
      || '{"status": "in_progress", "name": "moved by hand"}'
      WHERE id = (SELECT min(id) FROM service.jobs WHERE status = 'complete')`);
    await expect.poll(names).toHaveLength(before.length + 1);
  });

  test('do not show a job that was marked as deleted directly in the database', async () => {
    const [{number} = {number: ''}] = await sandbox.sql(
      `UPDATE service.jobs SET fields = fields || '{"deleted_at": "2026-11-02T15:00:00Z"}'
       WHERE id = (SELECT max(id) FROM service.jobs WHERE deleted_at IS NULL)
       RETURNING job_number AS number`,
    );
    for (let page = 1; page < 12; page++)
      expect(
        column((await sandbox.get(`/jobs.xml?only=job_number&page=${page}`)).root, 'job_number'),
      ).not.toContain(number);
  });

  test.each(['number', 'reversed', 'changed'] as const)(
    'contain every job once in the order "%s"',
    async (order) => {
      const ordered = await openSandbox({order, pageSize: 50});
      const seen: string[] = [];
      const marks: string[] = [];
      for (let page = 1; ; page++) {
        const {root} = await ordered.get(`/jobs.xml?only=job_number,updated_at&page=${page}`);
        if (root.elements.length === 0) break;
        if (page === 1) expect(root.elements).toHaveLength(50);
        seen.push(...column(root, 'job_number').map(String));
        marks.push(...column(root, 'updated_at').map((at) => new Date(String(at)).toISOString()));
      }
      expect(new Set(seen).size).toBe(240);
      expect(seen).toHaveLength(240);
      const numbers = [...seen].sort((left, right) => Number(left) - Number(right));
      if (order === 'changed') expect(marks).toEqual([...marks].sort().reverse());
      else expect(seen).toEqual(order === 'number' ? numbers : numbers.reverse());
      await ordered.close();
    },
  );

  test('move an edited job to the front in the order "changed"', async () => {
    const ordered = await openSandbox({order: 'changed'});
    await ordered.send('PUT', '/jobs/7.xml', '<job><name>edited</name></job>');
    expect(column((await ordered.get('/jobs.xml?only=job_number')).root, 'job_number')[0]).toBe(
      '7',
    );
    await ordered.close();
  });
});

describe('the journal', () => {
  const entries = async (path: string) =>
    await sandbox.sql(
      `SELECT method, resource, number, kind, changed FROM service.journal WHERE path = $1
        ORDER BY id`,
      [path],
    );

  test('has one entry per effect, with the fields that changed', async () => {
    const customer = await sandbox.send(
      'POST',
      '/customers.xml',
      '<customer><name>j</name></customer>',
    );
    const number = field(customer, 'customer_number') ?? '';
    const path = `/customers/${number}.xml`;
    await sandbox.send('PUT', path, '<customer><fax>1</fax><service_city nil="true"/></customer>');
    await sandbox.send('DELETE', path);
    expect(await entries(path)).toEqual([
      {method: 'PUT', resource: 'customers', number, kind: 'update', changed: {fax: '1'}},
      {method: 'DELETE', resource: 'customers', number, kind: 'delete', changed: {}},
    ]);
  });

  test('an update that changes nothing has no effect: no entry, no new updated_at', async () => {
    const before = (await sandbox.get('/customers/2.xml')).text;
    const name = field((await sandbox.get('/customers/2.xml')).root, 'name') ?? '';
    const escaped = name.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    await sandbox.send('PUT', '/customers/2.xml', `<customer><name>${escaped}</name></customer>`);
    expect((await sandbox.get('/customers/2.xml')).text).toBe(before);
    expect(await entries('/customers/2.xml')).toEqual([]);
  });

  test('an update sets updated_at to the current time of the service', async () => {
    await sandbox.send('PUT', '/customers/3.xml', '<customer><fax>moved</fax></customer>');
    expect(field((await sandbox.get('/customers/3.xml')).root, 'updated_at')).toBe(
      '2026-11-02T10:00:00-05:00',
    );
  });

  test('a charge has two entries: the new charge and the update of its job', async () => {
    await sandbox.send(
      'POST',
      '/jobs/5/job_charges.xml',
      '<job_charge><quantity>1</quantity><price_per_unit>2</price_per_unit></job_charge>',
    );
    const found = await entries('/jobs/5/job_charges.xml');
    expect(found.map(({resource, kind}) => [resource, kind])).toEqual([
      ['job_charges', 'create'],
      ['jobs', 'update'],
    ]);
  });

  test('no password or API token is in the journal or in the stored fields', async () => {
    const body =
      '<employee><name>S</name><can_login>true</can_login>' +
      '<username>s</username><password>hunter22</password></employee>';
    const employee = await sandbox.send('POST', '/employees.xml', body);
    const number = field(employee, 'employee_number') ?? '';
    const token = await sandbox.service.tokenOf(number);
    await sandbox.send(
      'PUT',
      `/employees/${number}.xml`,
      '<employee><password>hunter33</password></employee>',
    );
    const kept =
      await sandbox.sql(`SELECT (SELECT jsonb_agg(changed)::text FROM service.journal) AS journal,
      (SELECT jsonb_agg(fields)::text FROM service.employees) AS fields,
        (SELECT string_agg(password_hash, ' ') FROM service.employees) AS hashes`);
    const all = JSON.stringify(kept);
    for (const secret of ['hunter22', 'hunter33', String(token)]) expect(all).not.toContain(secret);
    const journal = JSON.stringify(await entries(`/employees/${number}.xml`));
    expect(journal).not.toMatch(/password|token|salt/);
  });

  test('20 concurrent charges of one job are all counted in its subtotal', async () => {
    const path = '/jobs/9/job_charges.xml';
    const before = field((await sandbox.get('/jobs/9.xml')).root, 'subtotal');
    const body =
      '<job_charge><quantity>1</quantity><price_per_unit>0.25</price_per_unit></job_charge>';
    await Promise.all(Array.from({length: 20}, () => sandbox.send('POST', path, body)));
    expect(Number(field((await sandbox.get('/jobs/9.xml')).root, 'subtotal'))).toBeCloseTo(
      Number(before) + 5,
      2,
    );
  });
});

describe('starting the service', () => {
  test('several services started at once on an empty database share one owner', async () => {
    const first = await openSandbox({isEmpty: true});
    await first.sql('DROP SCHEMA service CASCADE');
    const both = await Promise.all(
      [1, 2, 3].map(() => startService({databaseUrl: first.databaseUrl})),
    );
    expect(new Set(both.map(({token}) => token)).size).toBe(1);
    await Promise.all(both.map((service) => service.close()));
    await first.close();
  });

  test('fails with an error that names a port in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const starting = startService({databaseUrl: sandbox.databaseUrl, port});
    await expect(starting).rejects.toThrow(FatalError);
    await expect(starting).rejects.toThrow(`port ${port} of 127.0.0.1: it is in use`);
    await new Promise((resolve) => other.close(resolve));
  });

  test('fails with an error that names an unreachable database, without its password', async () => {
    const starting = startService({databaseUrl: 'postgres://someone:hunter2@127.0.0.1:1/none'});
    await expect(starting).rejects.toThrow(FatalError);
    await expect(starting).rejects.toThrow('none on 127.0.0.1:1');
    await expect(starting).rejects.not.toThrow('hunter2');
  });

  test('refuses an invalid time zone', async () => {
    await expect(
      startService({databaseUrl: sandbox.databaseUrl, timeZone: 'Mars/Olympus'}),
    ).rejects.toThrow(UsageError);
  });

  test('can use the port of a service that was closed', async () => {
    const one = await openSandbox();
    const asked = one.get('/customers.xml');
    const {port} = one.service;
    expect((await asked).status).toBe(200);
    await one.restart();
    const again = await startService({databaseUrl: one.databaseUrl, port});
    expect(again.port).toBe(port);
    await again.close();
    await one.close();
  });
});
