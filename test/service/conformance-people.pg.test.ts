// Employees and their hours.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {column, field, openSandbox, type Sandbox, type Seen} from './sandbox.ts';

describe.each(['observed', 'documented'] as const)(
  'employees and time entries, %s dialect',
  (dialect) => {
    let sandbox: Sandbox;
    let usernames = 0;
    const number = (employee: Seen) => field(employee, 'employee_number') ?? '';
    const hire = (fields: string) =>
      sandbox.send('POST', '/employees.xml', `<employee>${fields}</employee>`);
    const change = (employee: Seen, fields: string) =>
      sandbox.send('PUT', `/employees/${number(employee)}.xml`, `<employee>${fields}</employee>`);
    const withLogin = (password: string) =>
      '<name>Lo Gin</name><can_login>true</can_login>' +
      `<username>login${++usernames}</username><password>${password}</password>`;
    const statusWith = async (token: string | null) =>
      (await sandbox.call('GET', '/customers.xml?only=id', {token: token ?? ''})).status;

    beforeAll(async () => {
      sandbox = await openSandbox({dialect});
    });
    afterAll(() => sandbox.close());

    test('employee_number is assigned by the service, and is not the internal id', async () => {
      const employee = await hire('<name>N</name><employee_number>424242</employee_number>');
      expect(number(employee)).toMatch(/^\d+$/);
      expect(['424242', field(employee, 'id')]).not.toContain(number(employee));
    });

    test('name is kept as it is sent, and updated', async () => {
      const employee = await hire('<name>Zoë &lt;1&gt;</name>');
      expect(field(employee, 'name')).toBe('Zoë <1>');
      expect(field(await change(employee, '<name>Zoë</name>'), 'name')).toBe('Zoë');
      expect(field((await sandbox.get(`/employees/${number(employee)}.xml`)).root, 'name')).toBe(
        'Zoë',
      );
    });

    test('can_login, username and password set up a login; no password is shown', async () => {
      const body = `<employee>${withLogin('hunter2 & more'.replace('&', '&amp;'))}</employee>`;
      const answer = await sandbox.call('POST', '/employees.xml', {body});
      expect([field(answer.root, 'can_login'), field(answer.root, 'username')]).toEqual([
        'true',
        `login${usernames}`,
      ]);
      const list = await sandbox.get('/employees.xml');
      for (const text of [answer.text, list.text]) expect(text).not.toContain('hunter2');
    });

    test('each employee has a separate token that the service accepts', async () => {
      const [one, other] = [await hire('<name>A</name>'), await hire('<name>B</name>')];
      const tokens = [
        await sandbox.service.tokenOf(number(one)),
        await sandbox.service.tokenOf(number(other)),
      ];
      expect(tokens[0]).not.toBe(tokens[1]);
      for (const token of tokens) expect(await statusWith(token)).toBe(200);
    });

    test('a new password changes the token: the old one is refused at once', async () => {
      const employee = await hire(withLogin('first'));
      const before = await sandbox.service.tokenOf(number(employee));
      expect(await statusWith(before)).toBe(200);
      await change(employee, '<password>second</password>');
      const after = await sandbox.service.tokenOf(number(employee));
      expect(after).not.toBe(before);
      expect([await statusWith(before), await statusWith(after)]).toEqual([401, 200]);
    });

    test('the same password again, or another field, leaves the token as it is', async () => {
      const employee = await hire(withLogin('same'));
      const before = await sandbox.service.tokenOf(number(employee));
      await change(employee, '<password>same</password><name>Other</name>');
      await change(employee, '<password></password>');
      expect(await sandbox.service.tokenOf(number(employee))).toBe(before);
    });

    test('answers contain made-up secrets, which change with the password', async () => {
      const employee = await hire(withLogin('made up'));
      const names = ['password_salt', 'encrypted_password', 'remember_token'];
      const before = names.map((name) => field(employee, name));
      for (const value of before) expect(value).toMatch(/^[0-9a-f]{40}$/);
      expect(before).not.toContain(await sandbox.service.tokenOf(number(employee)));
      const changed = await change(employee, '<password>made up 2</password>');
      for (const [index, name] of names.entries())
        expect(field(changed, name)).not.toBe(before[index]);
    });

    test('an inactive employee is listed, but its token is refused', async () => {
      const employee = await hire('<name>Leaver</name>');
      const token = await sandbox.service.tokenOf(number(employee));
      expect(field(await change(employee, '<active>false</active>'), 'active')).toBe('false');
      expect(await statusWith(token)).toBe(401);
      expect(column((await sandbox.get('/employees.xml')).root, 'employee_number')).toContain(
        number(employee),
      );
      await change(employee, '<active>true</active>');
      expect(await statusWith(token)).toBe(200);
    });

    test('employees cannot be deleted', async () => {
      const answer = await sandbox.call('DELETE', '/employees/1.xml');
      expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, PUT, PATCH']);
      expect((await sandbox.get('/employees/1.xml')).status).toBe(200);
    });

    test('the employee list is complete, whatever page is requested', async () => {
      const [{count} = {count: 0}] = await sandbox.sql(
        'SELECT count(*)::integer AS count FROM service.employees',
      );
      expect((await sandbox.get('/employees.xml?page=2')).root.elements).toHaveLength(
        Number(count),
      );
    });

    describe('time entries', () => {
      let entries: string;
      let otherEntries: string;
      const startedOn = dialect === 'observed' ? '2026-10-30T13:30:00-04:00' : '10/30/2026 01:30pm';
      const body = (fields: string) => `<time_entry>${fields}</time_entry>`;
      const worked =
        '<employee_id>1003</employee_id><started_on>10/30/2026 01:30pm</started_on>' +
        '<number_of_hours>2.25</number_of_hours>';

      beforeAll(async () => {
        const customer = await sandbox.send(
          'POST',
          '/customers.xml',
          '<customer><name>c</name></customer>',
        );
        const jobs = `/customers/${field(customer, 'customer_number')}/jobs.xml`;
        const made = [
          await sandbox.send('POST', jobs, '<job><name>1</name></job>'),
          await sandbox.send('POST', jobs, '<job><name>2</name></job>'),
        ];
        const paths = made.map((job) => `/jobs/${field(job, 'job_number')}/time_entries`);
        [entries = '', otherEntries = ''] = paths;
      });

      test('employee_id, started_on and number_of_hours are stored and set ended_on', async () => {
        const entry = await sandbox.send('POST', `${entries}.xml`, body(worked));
        const values = ['employee_id', 'started_on', 'number_of_hours', 'ended_on'].map((name) =>
          field(entry, name),
        );
        expect(values).toEqual(['1003', startedOn, '2.25', '2026-10-30T15:45:00-04:00']);
        const shown = (await sandbox.get(`${entries}/${field(entry, 'id')}.xml`)).root;
        expect(field(shown, 'number_of_hours')).toBe('2.25');
        expect(column((await sandbox.get(`${entries}.xml`)).root, 'id')).toContain(
          field(entry, 'id'),
        );
      });

      test('an update changes the fields that it names', async () => {
        const entry = await sandbox.send('POST', `${entries}.xml`, body(worked));
        const path = `${entries}/${field(entry, 'id')}.xml`;
        const updated = await sandbox.send(
          'PUT',
          path,
          body('<number-of-hours>1</number-of-hours><employee-id>1004</employee-id>'),
        );
        const values = ['employee_id', 'started_on', 'number_of_hours', 'ended_on'].map((name) =>
          field(updated, name),
        );
        expect(values).toEqual(['1004', startedOn, '1', '2026-10-30T14:30:00-04:00']);
      });

      test('a deleted entry cannot be read; an entry is unknown under another job', async () => {
        const entry = await sandbox.send('POST', `${entries}.xml`, body(worked));
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const call = method === 'PUT' ? {body: body('<note>x</note>')} : {};
          const answer = await sandbox.call(
            method,
            `${otherEntries}/${field(entry, 'id')}.xml`,
            call,
          );
          expect([answer.status, answer.root.elements[0]?.text]).toEqual([
            400,
            'Invalid time entry.',
          ]);
        }
        await sandbox.send('DELETE', `${entries}/${field(entry, 'id')}.xml`);
        expect((await sandbox.get(`${entries}/${field(entry, 'id')}.xml`)).status).toBe(400);
        expect(column((await sandbox.get(`${entries}.xml`)).root, 'id')).not.toContain(
          field(entry, 'id'),
        );
      });
    });
  },
);
