// One statement of plain SQL for every kind of write: the service gets the specification's request,
// byte for byte, and its answer is in the warehouse without another sweep.

import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import {openRecordingProxy, type RecordingProxy} from '../support/recording-proxy.ts';
import {emptyRedis} from '../support/redis.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
const head = '<?xml version="1.0" encoding="UTF-8"?>\n';

interface Case {
  readonly what: string;
  /** May hold names of the numbers from earlier cases: {customer}. */
  readonly sql: string;
  readonly request: string;
  readonly body?: string;
  /** A query of one value, and the value that the warehouse then gives. */
  readonly shows: readonly [string, string];
  /** The number of the record goes by this name from then on. */
  readonly keeps?: string;
}

const cases: readonly Case[] = [
  {
    what: 'a customer is created',
    sql: `INSERT INTO warehouse.customers (name, phone_number, service_address, service_zip_code,
      billing_country)
          VALUES ('Ada & Söhne', '555-0100', E'1 Main St\\nRear', '02134', 'US')`,
    request: 'POST /customers.xml',
    body:
      '<customer><name>Ada &amp; Söhne</name><phone_number>555-0100</phone_number>' +
      '<service_address>1 Main St\nRear</service_address>' +
      '<service_zip_code>02134</service_zip_code>' +
      '<billing_country>US</billing_country></customer>',
    shows: [
      `SELECT concat_ws('|', name, service_zip_code, id IS NOT NULL) FROM warehouse.customers
       WHERE customer_number = {customer}`,
      'Ada & Söhne|02134|t',
    ],
    keeps: 'customer',
  },
  {
    what: 'a customer is updated, only where it changed, and a field is cleared',
    sql: `UPDATE warehouse.customers SET name = 'Ada & Söhne', phone_number = NULL, fax = '555-0199'
      WHERE customer_number = {customer}`,
    request: 'PUT /customers/{customer}.xml',
    body: '<customer><phone_number nil="true"></phone_number><fax>555-0199</fax></customer>',
    shows: [
      `SELECT concat_ws('|', phone_number IS NULL, fax) FROM warehouse.customers
       WHERE customer_number = {customer}`,
      't|555-0199',
    ],
  },
  {
    what: 'a job is created for a customer, with employees',
    sql: `WITH job AS (
            INSERT INTO warehouse.jobs (customer_number, name, scheduled_on, job_type_id)
            VALUES ({customer}, 'Roof', '2027-07-04 13:05+00',
              (SELECT min(id) FROM warehouse.job_types)) RETURNING row_id)
          INSERT INTO warehouse.job_employees (parent_row_id, employee_id)
          SELECT row_id, id FROM job, (SELECT id FROM warehouse.employees ORDER BY id LIMIT 2)
            AS crew`,
    request: 'POST /customers/{customer}/jobs.xml',
    body:
      '<job><name>Roof</name><job_type_id>{type}</job_type_id>' +
      '<scheduled_on>7/4/27 09:05am</scheduled_on><employee_ids type="array">' +
      '<employee_id>{first}</employee_id><employee_id>{second}</employee_id>' +
      '</employee_ids></job>',
    shows: [
      `SELECT concat_ws('|', j.name, j.status, count(e.*)) FROM warehouse.jobs AS j
       JOIN warehouse.job_employees AS e USING (job_number)
        WHERE j.job_number = {job} AND e._deleted_at IS NULL AND e._pending IS NULL
        GROUP BY j.name, j.status`,
      'Roof|scheduled|2',
    ],
    keeps: 'job',
  },
  {
    what: 'a job is rescheduled and gets another status',
    sql: `UPDATE warehouse.jobs SET scheduled_on = '2027-12-24 18:30+00',
      job_status_id = (SELECT min(id) FROM warehouse.job_statuses) WHERE job_number = {job}`,
    request: 'PUT /jobs/{job}.xml',
    body:
      '<job><job_status_id>{status}</job_status_id>' +
      '<scheduled_on>12/24/27 01:30pm</scheduled_on></job>',
    shows: [
      `SELECT concat_ws('|', scheduled_on AT TIME ZONE 'UTC', job_status_id) FROM warehouse.jobs
       WHERE job_number = {job}`,
      '2027-12-24 18:30:00|{status}',
    ],
  },
  {
    what: 'an employee is taken off a job',
    sql: `DELETE FROM warehouse.job_employees WHERE job_number = {job} AND employee_id = {first}`,
    request: 'PUT /jobs/{job}.xml',
    body:
      '<job><employee_ids type="array"><employee_id>{second}</employee_id>' +
      '</employee_ids></job>',
    shows: [
      `SELECT string_agg(employee_id::text, ',') FROM warehouse.job_employees
       WHERE job_number = {job} AND _deleted_at IS NULL`,
      '{second}',
    ],
  },
  {
    what: 'a charge is created',
    sql: `INSERT INTO warehouse.job_charges (job_number, item_id, details, quantity, price_per_unit)
          VALUES ({job}, (SELECT min(item_id) FROM warehouse.job_charges), 'Shingles <A>', 12.50,
            3.999)`,
    request: 'POST /jobs/{job}/job_charges.xml',
    body:
      '<job_charge><item_id>{item}</item_id><details>Shingles &lt;A&gt;</details>' +
      '<quantity>12.50</quantity><price_per_unit>3.999</price_per_unit></job_charge>',
    shows: [
      `SELECT concat_ws('|', details, quantity = 12.5) FROM warehouse.job_charges
       WHERE id = {charge}`,
      'Shingles <A>|t',
    ],
    keeps: 'charge',
  },
  {
    what: 'a time entry is created',
    sql: `INSERT INTO warehouse.time_entries (job_number, employee_id, started_on, number_of_hours)
      VALUES ({job}, {first}, '2027-01-05 05:00+00', 7.25)`,
    request: 'POST /jobs/{job}/time_entries.xml',
    body:
      '<time_entry><employee_id>{first}</employee_id>' +
      '<started_on>01/05/2027 12:00am</started_on>' +
      '<number_of_hours>7.25</number_of_hours></time_entry>',
    shows: [`SELECT number_of_hours = 7.25 FROM warehouse.time_entries WHERE id = {entry}`, 'true'],
    keeps: 'entry',
  },
  {
    what: 'a time entry is updated',
    sql: `UPDATE warehouse.time_entries SET number_of_hours = 8, started_on = '2027-01-05 17:00+00'
      WHERE id = {entry}`,
    request: 'PUT /jobs/{job}/time_entries/{entry}.xml',
    body:
      '<time_entry><started_on>01/05/2027 12:00pm</started_on>' +
      '<number_of_hours>8</number_of_hours></time_entry>',
    shows: [
      `SELECT number_of_hours = 8 FROM warehouse.time_entries
       WHERE id = {entry} AND _pending IS NULL`,
      'true',
    ],
  },
  {
    what: 'a time entry is deleted',
    sql: `DELETE FROM warehouse.time_entries WHERE id = {entry}`,
    request: 'DELETE /jobs/{job}/time_entries/{entry}.xml',
    shows: [
      `SELECT _deleted_at IS NOT NULL AND _pending IS NULL FROM warehouse.time_entries
       WHERE id = {entry}`,
      'true',
    ],
  },
  ...(['customer', 'job'] as const).flatMap((owner): Case[] => [
    {
      what: `a note is put on a ${owner}`,
      sql: `INSERT INTO warehouse.${owner}_notes (${owner}_number, note)
        VALUES ({${owner}}, E'bring a\\r\\nladder')`,
      request: `POST /${owner}s/{${owner}}/notes.xml`,
      body: '<note><note>bring a\nladder</note></note>',
      shows: [
        `SELECT note FROM warehouse.${owner}_notes WHERE id = {${owner}Note}`,
        'bring a\nladder',
      ],
      keeps: `${owner}Note`,
    },
    {
      what: `a note of a ${owner} is rewritten`,
      sql: `UPDATE warehouse.${owner}_notes SET note = 'bring two' WHERE id = {${owner}Note}`,
      request: `PUT /${owner}s/{${owner}}/notes/{${owner}Note}.xml`,
      body: '<note><note>bring two</note></note>',
      shows: [`SELECT note FROM warehouse.${owner}_notes WHERE id = {${owner}Note}`, 'bring two'],
    },
    {
      what: `a note of a ${owner} is deleted`,
      sql: `DELETE FROM warehouse.${owner}_notes WHERE id = {${owner}Note}`,
      request: `DELETE /${owner}s/{${owner}}/notes/{${owner}Note}.xml`,
      shows: [
        `SELECT _deleted_at IS NOT NULL FROM warehouse.${owner}_notes WHERE id = {${owner}Note}`,
        'true',
      ],
    },
  ]),
  {
    what: 'a task is created',
    sql: `INSERT INTO warehouse.tasks (name, scheduled_at)
      VALUES ('Call back', '2027-03-09 14:07+00')`,
    request: 'POST /tasks.xml',
    body: '<task><name>Call back</name><scheduled_at>3/9/2027 09:07am</scheduled_at></task>',
    shows: [`SELECT name FROM warehouse.tasks WHERE id = {task}`, 'Call back'],
    keeps: 'task',
  },
  {
    what: 'a task is completed',
    sql: `UPDATE warehouse.tasks SET completed = true WHERE id = {task}`,
    request: 'PUT /tasks/{task}.xml',
    body: '<task><completed>true</completed></task>',
    shows: [`SELECT completed FROM warehouse.tasks WHERE id = {task}`, 'true'],
  },
  {
    what: 'a task is deleted',
    sql: `DELETE FROM warehouse.tasks WHERE id = {task}`,
    request: 'DELETE /tasks/{task}.xml',
    shows: [`SELECT _deleted_at IS NOT NULL FROM warehouse.tasks WHERE id = {task}`, 'true'],
  },
  {
    what: 'an employee is created',
    sql: `INSERT INTO warehouse.employees (name) VALUES ('Grace Hopper')`,
    request: 'POST /employees.xml',
    body: '<employee><name>Grace Hopper</name></employee>',
    shows: [`SELECT active FROM warehouse.employees WHERE employee_number = {employee}`, 'true'],
    keeps: 'employee',
  },
  {
    what: 'an employee is renamed',
    sql: `UPDATE warehouse.employees SET name = 'Grace B. Hopper'
      WHERE employee_number = {employee}`,
    request: 'PUT /employees/{employee}.xml',
    body: '<employee><name>Grace B. Hopper</name></employee>',
    shows: [
      `SELECT name FROM warehouse.employees WHERE employee_number = {employee}`,
      'Grace B. Hopper',
    ],
  },
  {
    what: 'a job is deleted',
    sql: `DELETE FROM warehouse.jobs WHERE job_number = {job}`,
    request: 'DELETE /jobs/{job}.xml',
    shows: [
      `SELECT (SELECT _deleted_at IS NOT NULL AND _pending IS NULL FROM warehouse.jobs
        WHERE job_number = {job})
          AND (SELECT _deleted_at IS NOT NULL FROM warehouse.job_charges WHERE id = {charge})`,
      'true',
    ],
  },
  {
    what: 'a customer is deleted',
    sql: `DELETE FROM warehouse.customers WHERE customer_number = {customer}`,
    request: 'DELETE /customers/{customer}.xml',
    shows: [
      `SELECT _deleted_at IS NOT NULL FROM warehouse.customers WHERE customer_number = {customer}`,
      'true',
    ],
  },
];

describe.each(backends)('with the queue on %s', (kind) => {
  let service: TestService;
  let proxy: RecordingProxy;
  let world: TestWorld;
  let workers: Workers;
  const names = new Map<string, string>();
  const fill = (text: string) =>
    text.replaceAll(/\{(\w+)\}/g, (_, name: string) => names.get(name) ?? '?');

  beforeAll(async () => {
    service = await openService();
    proxy = await openRecordingProxy(service.url);
    world = await openWorld({...service, url: proxy.url});
    await world.sweepAll();
    const {rows} = await world.pool.query<Record<string, string>>(
      `SELECT (SELECT min(id) FROM warehouse.job_types) AS type,
        (SELECT min(id) FROM warehouse.job_statuses) AS status,
              (SELECT min(item_id) FROM warehouse.job_charges) AS item,
                (SELECT min(id) FROM warehouse.employees) AS first,
              (SELECT id FROM warehouse.employees ORDER BY id OFFSET 1 LIMIT 1) AS second`,
    );
    for (const [name, value] of Object.entries(rows[0] ?? {})) names.set(name, value);
    const {databaseUrl, log} = world;
    const redisUrl = kind === 'redis' ? await emptyRedis() : null;
    const backend = await openQueueBackend({redisUrl, databaseUrl, log});
    workers = await startWorkers(world, backend, {
      accountIds: [world.account.accountId],
      keepsSchedules: true,
    });
  });
  afterAll(async () => {
    await workers.stop();
    await world.close();
    await proxy.close();
    await service.close();
  });

  test.each(cases)('$what', async ({sql, request, body, shows, keeps}) => {
    proxy.takeWrites();
    const client = await world.pool.connect();
    try {
      await client.query(fill(sql));
      const {rows} = await client.query<{state: string; number: string; reason: string | null}>(
        `SELECT sync.wait(change_id, '30 s') AS state, change_id FROM sync.changes
         WHERE change_id = sync.last_change()`,
      );
      const settled = await client.query(
        'SELECT number, reason FROM sync.changes WHERE change_id = sync.last_change()',
      );
      expect({state: rows[0]?.state, reason: settled.rows[0]?.reason}).toEqual({
        state: 'done',
        reason: null,
      });
      if (keeps !== undefined) names.set(keeps, settled.rows[0]?.number);
    } finally {
      client.release();
    }
    const [method = '', path = ''] = fill(request).split(' ');
    const expected = {
      method,
      path,
      contentType: body === undefined ? null : 'application/xml; charset=utf-8',
      body: body === undefined ? '' : `${head}${fill(body)}\n`,
    };
    expect(proxy.takeWrites()).toEqual([expected]);
    const {rows} = await world.pool.query({text: fill(shows[0]), rowMode: 'array'});
    expect(String(rows[0]?.[0])).toBe(fill(shows[1]));
  });

  test('every change is done, and no row is pending', async () => {
    const {rows} = await world.pool.query(
      `SELECT (SELECT count(*)::int FROM sync.changes WHERE state <> 'done') AS open,
              (SELECT count(*)::int FROM warehouse.customers WHERE _pending) + (SELECT count(*)::int
                FROM warehouse.jobs WHERE _pending)
            + (SELECT count(*)::int FROM warehouse.job_employees WHERE _pending) AS pending`,
    );
    expect(rows).toEqual([{open: 0, pending: 0}]);
  });

  test('a sweep after the write-back writes nothing', async () => {
    await world.sweepAll();
    const written = await world.pool.query(
      `SELECT stream, inserted + updated + revived + vanished AS written FROM sync.sweeps
       WHERE sweep_id > 4 ORDER BY stream`,
    );
    expect(written.rows).toEqual([
      {stream: 'customers', written: '0'},
      {stream: 'employees', written: '0'},
      {stream: 'jobs', written: '0'},
      {stream: 'tasks', written: '0'},
    ]);
  });
});
