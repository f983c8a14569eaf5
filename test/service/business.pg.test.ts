import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {UsageError} from '../../src/core/errors.ts';
import {seedBusiness} from '../../src/service/business.ts';
import {startService} from '../../src/service/server.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {openPlainPool} from '../support/with-client.ts';
import {column, field, openSandbox, type Sandbox, type Seen, within} from './sandbox.ts';

const scale = {seed: 11, customers: 120, jobs: 500, today: '2026-11-02'} as const;
const databases: TestDatabase[] = [];

async function makeDatabase(): Promise<string> {
  const database = await createDatabase();
  databases.push(database);
  return database.url;
}

/** Every byte of every list that a client can read. */
async function readEverything(databaseUrl: string): Promise<string> {
  const service = await startService({databaseUrl, compress: false});
  const credentials = Buffer.from(`${service.token}:${service.token}`).toString('base64');
  const authorization = `Basic ${credentials}`;
  const get = async (path: string) =>
    await (await fetch(service.url + path, {headers: {authorization}})).text();
  const texts = [service.token, await get('/employees.xml')];
  for (let page = 1; page <= 17; page++) {
    texts.push(await get(`/customers.xml?page=${page}&include=contacts,tasks,notes,tax_entity`));
    texts.push(
      await get(
        `/jobs.xml?page=${page}&include=employees,job_charges,time_entries,notes,` +
          'job_type,job_status,tax_entity',
      ),
    );
    texts.push(await get(`/tasks.xml?page=${page}`));
  }
  await service.close();
  return texts.join('');
}

afterAll(async () => {
  for (const database of databases) await database.drop();
});

describe('seeding a made-up business', () => {
  test('the same seed gives the same bytes, another seed gives others', async () => {
    const urls = [await makeDatabase(), await makeDatabase(), await makeDatabase()];
    const [first = '', second = '', third = ''] = urls;
    await seedBusiness(first, scale);
    await seedBusiness(second, scale);
    await seedBusiness(third, {...scale, seed: 12});
    const [one, two, three] = [
      await readEverything(first),
      await readEverything(second),
      await readEverything(third),
    ];
    expect(one.length).toBeGreaterThan(1_000_000);
    expect(one === two).toBe(true);
    expect(one === three).toBe(false);
  });

  test('if no date is given, the business is dated October 2026', async () => {
    const made = await seedBusiness(await makeDatabase(), {seed: 5, customers: 5});
    expect(made).toEqual({
      isNew: true,
      seed: '5',
      customers: 5,
      jobs: 30,
      madeCustomers: 5,
      today: expect.stringMatching(/^2026-10-\d\d$/),
    });
  });

  test('a second run changes nothing and returns the existing business', async () => {
    const url = await makeDatabase();
    await seedBusiness(url, {seed: 5, customers: 5});
    const again = await seedBusiness(url, {seed: 6, customers: 50});
    expect(again).toMatchObject({isNew: false, seed: '5', customers: 5, jobs: 30});
  });

  test('two concurrent runs create one business', async () => {
    const url = await makeDatabase();
    const made = await Promise.all([
      seedBusiness(url, {seed: 5, customers: 5}),
      seedBusiness(url, {seed: 6, customers: 5}),
    ]);
    expect(made.map(({isNew}) => isNew).sort()).toEqual([false, true]);
    expect(made[0]?.seed).toBe(made[1]?.seed);
  });

  test('a database with a record written by a user is left unchanged', async () => {
    const sandbox = await openSandbox({isEmpty: true});
    await sandbox.send('POST', '/customers.xml', '<customer><name>mine</name></customer>');
    expect(await seedBusiness(sandbox.databaseUrl, {seed: 5})).toEqual({
      isNew: false,
      seed: null,
      customers: 1,
      jobs: 0,
      madeCustomers: null,
      today: null,
    });
    await sandbox.close();
  });

  test('a running service shows the seeded business and continues its numbering', async () => {
    const sandbox = await openSandbox({isEmpty: true});
    expect((await sandbox.get('/jobs.xml')).root.elements).toEqual([]);
    await seedBusiness(sandbox.databaseUrl, {seed: 5, customers: 5});
    await expect.poll(async () => (await sandbox.get('/jobs.xml')).root.elements).toHaveLength(30);
    const customer = await sandbox.send(
      'POST',
      '/customers.xml',
      '<customer><name>next</name></customer>',
    );
    expect(field(customer, 'customer_number')).toBe('6');
    await sandbox.close();
  });

  test('an interrupted run leaves nothing behind and can be repeated', async () => {
    const url = await makeDatabase();
    const pool = openPlainPool(url);
    await seedBusiness(pool, {seed: 5, customers: 1, jobs: 0});
    await pool.query(
      `TRUNCATE service.customers, service.employees, service.contacts, service.notes,
         service.tasks, service.business`,
    );
    // The last statement but one of the seed fails: by then all before it has been written.
    await pool.query(
      `CREATE FUNCTION cut() RETURNS trigger
        LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END
        $$`,
    );
    await pool.query(
      'CREATE TRIGGER cut BEFORE INSERT ON service.business FOR EACH ROW EXECUTE FUNCTION cut()',
    );
    await expect(seedBusiness(pool, {seed: 5, customers: 50})).rejects.toThrow();
    const {rows} = await pool.query('SELECT count(*)::integer AS count FROM service.jobs');
    expect(rows).toEqual([{count: 0}]);
    await pool.query('DROP TRIGGER cut ON service.business');
    expect(await seedBusiness(pool, {seed: 5, customers: 50})).toMatchObject({
      isNew: true,
      customers: 50,
      jobs: 300,
    });
    await pool.end();
  });

  test.each([{customers: 0}, {customers: 1.5}, {jobs: -1}, {today: 'yesterday'}])(
    '%o is refused',
    async (wrong) => {
      const url = await makeDatabase();
      await expect(seedBusiness(url, {seed: 1, ...wrong})).rejects.toThrow(UsageError);
    },
  );
});

describe('a seeded business', () => {
  let sandbox: Sandbox;
  let customers: readonly Seen[];
  let jobs: readonly Seen[];
  let text: string;
  beforeAll(async () => {
    const url = await makeDatabase();
    await seedBusiness(url, scale);
    sandbox = await openSandbox({databaseUrl: url});
    const pages = async (path: string, count: number) =>
      await Promise.all(
        Array.from({length: count}, (_, index) => sandbox.get(`${path}&page=${index + 1}`)),
      );
    const customerPages = await pages('/customers.xml?include=contacts,notes', 4);
    const jobPages = await pages('/jobs.xml?include=employees,job_charges,time_entries,notes', 17);
    customers = customerPages.flatMap(({root}) => root.elements);
    jobs = jobPages.flatMap(({root}) => root.elements);
    text = [...customerPages, ...jobPages].map((page) => page.text).join('');
  });
  afterAll(() => sandbox.close());

  test('has the requested number of customers and jobs; job numbers have gaps', () => {
    expect([customers.length, jobs.length]).toEqual([120, 500]);
    expect(Number(field(jobs.at(-1) ?? jobs[0] ?? fail(), 'job_number'))).toBeGreaterThan(500);
  });

  test('has unscheduled, running and completed jobs, and hours on most completed ones', () => {
    const count = (status: string) => jobs.filter((job) => field(job, 'status') === status).length;
    expect(count('complete')).toBeGreaterThan(350);
    expect(count('in_progress')).toBeGreaterThan(0);
    expect(jobs.some((job) => field(job, 'scheduled_on') === null)).toBe(true);
    for (const job of jobs)
      expect(field(job, 'completed_on') !== null).toBe(field(job, 'status') === 'complete');
    // Now and then nobody writes the hours down.
    const withHours = jobs.filter((job) => within(job, 'time_entries').elements.length > 0);
    expect(withHours.length / count('complete')).toBeGreaterThan(0.95);
    expect(withHours.length).toBeLessThan(count('complete'));
  });

  test('has repeat customers, sub-customers, contacts and notes', () => {
    const byCustomer = new Map<unknown, number>();
    for (const id of jobs.map((job) => field(job, 'customer_id')))
      byCustomer.set(id, (byCustomer.get(id) ?? 0) + 1);
    expect(Math.max(...byCustomer.values())).toBeGreaterThan(10);
    const ids = new Set(customers.map((customer) => field(customer, 'id')));
    for (const id of byCustomer.keys()) expect(ids).toContain(id);
    for (const parent of customers
      .map((customer) => field(customer, 'parent_id'))
      .filter((id) => id !== null))
      expect(ids).toContain(parent);
    for (const name of ['children', 'contacts', 'notes'])
      expect(customers.some((customer) => within(customer, name).elements.length > 0)).toBe(true);
  });

  test('gives each job a subtotal equal to its charges, and a total that adds the tax', () => {
    const cents = (value: string | null | undefined) => Math.round(Number(value) * 100);
    for (const job of jobs) {
      const sum = column(within(job, 'job_charges'), 'total').reduce(
        (all, total) => all + cents(total),
        0,
      );
      expect(cents(field(job, 'subtotal'))).toBe(sum);
      expect(cents(field(job, 'total'))).toBe(sum + cents(field(job, 'tax')));
    }
  });

  test('has most of its cooling repairs between May and October', () => {
    const months = (type: string) =>
      jobs
        .filter((job) => field(job, 'job_type_id') === type)
        .map((job) => Number(String(field(job, 'created_at')).slice(5, 7)));
    const share = (type: string, wanted: readonly number[]) =>
      months(type).filter((month) => wanted.includes(month)).length /
      Math.max(1, months(type).length);
    expect(share('102', [5, 6, 7, 8, 9, 10])).toBeGreaterThan(0.9);
  });

  test('assigns technicians with the right skill, in working hours except emergencies', () => {
    const skills = new Map<unknown, string>();
    for (const employee of jobs.flatMap((job) => within(job, 'employees').elements))
      skills.set(field(employee, 'id'), field(employee, 'custom_text1') ?? '');
    for (const job of jobs) {
      for (const id of column(within(job, 'employees'), 'id'))
        expect(skills.get(id)).toContain(field(job, 'name'));
      const start = field(job, 'scheduled_on');
      if (typeof start !== 'string') continue;
      const begins = Number(start.slice(11, 13)) * 60 + Number(start.slice(14, 16));
      expect(begins).toBeGreaterThanOrEqual(7 * 60);
      if (field(job, 'name') === 'Emergency call') continue;
      const ends = begins + Number(field(job, 'duration'));
      expect(ends, `job ${field(job, 'job_number')}`).toBeLessThanOrEqual(18 * 60);
    }
  });

  test('has no event dated after the time for which it was seeded', () => {
    for (const record of [...customers, ...jobs])
      for (const name of ['created_at', 'updated_at', 'completed_on', 'invoice_paid_on'])
        expect(Date.parse(field(record, name) ?? '2020-01-01T00:00:00Z')).toBeLessThan(
          Date.parse('2026-11-02T07:59:00-05:00'),
        );
  });

  test('contains legal values that are hard to handle, such as leading zeros and emoji', () => {
    const values = customers.map((customer) => field(customer, 'fax'));
    expect(values).toEqual(expect.arrayContaining([null, '']));
    expect(
      customers.some((customer) => /^0\d+$/.test(field(customer, 'service_zip_code') ?? '')),
    ).toBe(true);
    expect(customers.some((customer) => /^00/.test(field(customer, 'account_number') ?? ''))).toBe(
      true,
    );
    expect(customers.some((customer) => field(customer, 'job_status') === 'None')).toBe(true);
    for (const part of ['275.10', '&amp;', '&lt;', '"', 'é', 'ü', '日本', '🐕', '\r\n', '\n'])
      expect([part, text.includes(part)]).toEqual([part, true]);
    expect(
      customers.some((customer) =>
        (field(customer, 'special_instructions') ?? '').startsWith('  '),
      ),
    ).toBe(true);
  });

  test('contains only fictional phone numbers and example.com or example.org addresses', () => {
    for (const phone of text.matchAll(/\(\d{3}\) (\d{3}-\d{4})/g))
      expect(phone[1]).toMatch(/^555-01\d\d$/);
    for (const mail of text.matchAll(/[\w.]+@([\w.]+)/g))
      expect(mail[1]).toMatch(/^example\.(com|org)$/);
  });
});

function fail(): never {
  throw new Error('the business is empty');
}
