import {describe, expect, test} from 'vitest';
import {isMissingRecord} from '../../src/api/verdict.ts';
import {FatalError, RecordError, RetryableError} from '../../src/core/errors.ts';
import {createWritingClient, type WritingClient} from '../support/writing-client.ts';
import {makeJobPage} from './job-page.ts';
import {openTransport} from './open-transport.ts';
import {startServer} from './scripted-server.ts';

/** A client of a server that answers every request alike, and a record of its requests. */
async function clientOf(
  body: string | Buffer,
  {status = 200, headers = {}}: {status?: number; headers?: Record<string, string>} = {},
) {
  const server = await startServer((response) => {
    response.writeHead(status, {'content-type': 'application/xml; charset=utf-8', ...headers});
    response.end(body);
  });
  return {client: createWritingClient(openTransport(server.url)), seen: server.seen};
}

const INVALID = '<errors><error>Invalid job.</error></errors>';

describe('the operations of the client', () => {
  const rows: [string, string, (client: WritingClient) => Promise<unknown>][] = [
    ['GET', '/customers.xml', (c) => c.customers.list()],
    [
      'GET',
      '/customers.xml?page=2&only=id%2Cname&include=contacts%2Ctax_entity&service_zip_code=30102',
      (c) =>
        c.customers.list({
          page: 2,
          only: ['id', 'name'],
          include: ['contacts', 'tax_entity'],
          filters: {service_zip_code: '30102'},
        }),
    ],
    ['GET', '/customers/5.xml', (c) => c.customers.show('5')],
    ['POST', '/customers.xml', (c) => c.customers.create({name: 'A'})],
    ['PUT', '/customers/5.xml', (c) => c.customers.update('5', {name: 'A'})],
    ['DELETE', '/customers/5.xml', (c) => c.customers.remove('5')],
    [
      'GET',
      '/jobs.xml?page=3&include=job_charges' +
        '&scheduled=this_week&state=in_progress&employee_number=4',
      (c) =>
        c.jobs.list({
          page: 3,
          include: ['job_charges'],
          filters: {scheduled: 'this_week', state: 'in_progress', employee_number: '4'},
        }),
    ],
    ['GET', '/customers/5/jobs.xml', (c) => c.jobs.listOfCustomer('5')],
    ['GET', '/jobs/7.xml', (c) => c.jobs.show('7')],
    ['POST', '/customers/5/jobs.xml', (c) => c.jobs.create('5', {name: 'A'})],
    ['PUT', '/jobs/7.xml', (c) => c.jobs.update('7', {employee_ids: ['1']})],
    ['DELETE', '/jobs/7.xml', (c) => c.jobs.remove('7')],
    [
      'POST',
      '/jobs/7/job_charges.xml',
      (c) => c.jobCharges.create('7', {item_id: '3', quantity: '2'}),
    ],
    ['GET', '/employees.xml', (c) => c.employees.list()],
    ['GET', '/employees/3.xml', (c) => c.employees.show('3')],
    ['POST', '/employees.xml', (c) => c.employees.create({name: 'A', can_login: 'true'})],
    ['PUT', '/employees/3.xml', (c) => c.employees.update('3', {name: 'A'})],
    ['GET', '/jobs/7/time_entries.xml', (c) => c.timeEntries.list('7')],
    ['GET', '/jobs/7/time_entries/9.xml', (c) => c.timeEntries.show('7', '9')],
    [
      'POST',
      '/jobs/7/time_entries.xml',
      (c) => c.timeEntries.create('7', {number_of_hours: '1.5'}),
    ],
    [
      'PUT',
      '/jobs/7/time_entries/9.xml',
      (c) => c.timeEntries.update({parentNumber: '7', id: '9'}, {number_of_hours: '2'}),
    ],
    [
      'DELETE',
      '/jobs/7/time_entries/9.xml',
      (c) => c.timeEntries.remove({parentNumber: '7', id: '9'}),
    ],
    [
      'GET',
      '/tasks.xml?page=1&completed=false&scheduled_at=today',
      (c) => c.tasks.list({page: 1, filters: {completed: 'false', scheduled_at: 'today'}}),
    ],
    ['GET', '/tasks/8.xml', (c) => c.tasks.show('8')],
    ['POST', '/tasks.xml', (c) => c.tasks.create({name: 'A'})],
    ['PUT', '/tasks/8.xml', (c) => c.tasks.update('8', {name: 'A'})],
    ['DELETE', '/tasks/8.xml', (c) => c.tasks.remove('8')],
    ...(['customers', 'jobs'] as const).flatMap(
      (parent): [string, string, (client: WritingClient) => Promise<unknown>][] => {
        const notes = parent === 'customers' ? 'customerNotes' : 'jobNotes';
        return [
          ['GET', `/${parent}/5/notes.xml`, (c) => c[notes].list('5')],
          ['GET', `/${parent}/5/notes/6.xml`, (c) => c[notes].show('5', '6')],
          ['POST', `/${parent}/5/notes.xml`, (c) => c[notes].create('5', {note: 'A'})],
          [
            'PUT',
            `/${parent}/5/notes/6.xml`,
            (c) => c[notes].update({parentNumber: '5', id: '6'}, {note: 'B'}),
          ],
          [
            'DELETE',
            `/${parent}/5/notes/6.xml`,
            (c) => c[notes].remove({parentNumber: '5', id: '6'}),
          ],
        ];
      },
    ),
  ];

  test.each(rows)(
    'send the request that the specification lists: %s %s',
    async (method, url, call) => {
      const {client, seen} = await clientOf('');
      // The empty body is no list; only the request counts here.
      await call(client).catch((error: unknown) => expect(error).toBeInstanceOf(RetryableError));
      expect(seen[0]).toMatchObject({method, url});
      if (method === 'POST' || method === 'PUT')
        expect(seen[0]?.headers['content-type']).toMatch(/^application\/xml/);
      else expect(seen[0]?.body).toBe('');
    },
  );

  test('cannot delete employees, and can only create job charges', async () => {
    const {client} = await clientOf('');
    expect(Object.keys(client.employees)).not.toContain('remove');
    expect(Object.keys(client.jobCharges)).toEqual(['create']);
  });
});

describe('reads', () => {
  test('a list returns its good records, and its bad ones separately', async () => {
    const {client} = await clientOf(
      '<jobs type="array"><job><id type="integer">1</id></job>' +
        '<job><id type="integer">x</id></job></jobs>',
    );
    const {records, bad} = await client.jobs.list();
    expect(records).toHaveLength(1);
    expect(bad).toHaveLength(1);
  });

  test('a show returns one record, under the singular or the plural root', async () => {
    for (const root of ['customer', 'customers']) {
      const {client} = await clientOf(`<${root}><id type="integer">1</id></${root}>`);
      expect(await client.customers.show('1')).toEqual({
        names: ['id'],
        values: ['1'],
        isArray: false,
      });
    }
  });

  test('an unknown record is reported as missing, and so is a list below it', async () => {
    const {client} = await clientOf(INVALID, {status: 400});
    for (const result of [
      await client.jobs.show('1'),
      await client.timeEntries.list('1'),
      await client.jobs.listOfCustomer('1'),
    ]) {
      expect(result).toEqual({gone: true, status: 400, message: 'Invalid job.'});
      expect(isMissingRecord(result)).toBe(true);
    }
  });

  test('a 404 for a top-level list is a fatal error about the base address', async () => {
    const {client} = await clientOf('', {status: 404});
    await expect(client.jobs.list()).rejects.toThrow(FatalError);
    await expect(client.fetchPage('/jobs.xml', {page: '1'})).rejects.toThrow(
      /check the base address/,
    );
  });

  test('fetchPage returns the unchanged bytes of a page', async () => {
    const page = makeJobPage({jobs: 2});
    const {client, seen} = await clientOf(page);
    const raw = await client.fetchPage('/jobs.xml', {page: '4', include: 'notes'});
    expect(raw.body.equals(page)).toBe(true);
    expect(raw.bodyBytes).toBe(page.length);
    expect(Date.parse(raw.dateHeader ?? '')).not.toBeNaN();
    expect(seen[0]?.url).toBe('/jobs.xml?page=4&include=notes');
  });
});

describe('an invalid number is rejected before any request', () => {
  test.each([
    '0',
    '-1',
    '01',
    '1.5',
    '',
    ' 1',
    '1 ',
    '1/../2',
    '../jobs',
    '1?x=',
    '%31',
    '1\n',
    '1e3',
    '99999999999999999999',
  ])('%j', async (number) => {
    const {client, seen} = await clientOf('');
    const calls = [
      () => client.jobs.show(number),
      () => client.jobs.remove(number),
      () => client.jobs.create(number, {}),
      () => client.timeEntries.show('1', number),
      () => client.customerNotes.update({parentNumber: number, id: '1'}, {note: 'x'}),
      () => client.jobCharges.create(number, {}),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(RecordError);
    expect(seen).toEqual([]);
  });
});

describe('a write', () => {
  test.each<[string, string, Record<string, string>, object]>([
    [
      'with the record',
      '<customer><id type="integer">1</id></customer>',
      {},
      {outcome: 'done', record: {values: ['1']}},
    ],
    [
      'with the record under the plural',
      '<customers><id type="integer">1</id></customers>',
      {},
      {outcome: 'done', record: {values: ['1']}},
    ],
    ['with nothing', '', {}, {outcome: 'done', record: null, locatedNumber: null}],
    [
      'with a blank, and the place',
      ' ',
      {location: 'https://x.example/customers/42.xml'},
      {outcome: 'done', record: null, locatedNumber: '42'},
    ],
    [
      'with nothing, and a place without a suffix',
      '',
      {location: '/customers/42'},
      {outcome: 'done', record: null, locatedNumber: '42'},
    ],
    [
      'with a record that has a flaw',
      '<customer><id type="integer">x</id></customer>',
      {},
      {outcome: 'done', record: null},
    ],
    [
      'with errors under 200',
      '<errors><error>no</error></errors>',
      {},
      {outcome: 'in-doubt', status: 200},
    ],
    ['with another document', '<job><id>1</id></job>', {}, {outcome: 'in-doubt'}],
    ['with half a document', '<customer><id>1</id>', {}, {outcome: 'in-doubt'}],
    ['with plain text', 'OK', {}, {outcome: 'in-doubt'}],
  ])(
    'is sent once, and has the expected outcome when answered %s',
    async (_, body, headers, expected) => {
      const {client, seen} = await clientOf(body, {headers});
      expect(await client.customers.create({name: 'A'})).toMatchObject(expected);
      expect(seen).toHaveLength(1);
      expect(seen[0]?.body).toContain('<customer><name>A</name></customer>');
    },
  );

  test.each([
    '',
    'Customer successfully deleted',
    '<task><id>1</id></task>',
    '<message>deleted</message>',
  ])('a delete answered %j is done', async (body) => {
    const {client} = await clientOf(body);
    expect(await client.tasks.remove('1')).toMatchObject({outcome: 'done', record: null});
  });

  test('a delete answered 200 with errors is in doubt', async () => {
    const {client} = await clientOf(INVALID);
    expect(await client.tasks.remove('1')).toMatchObject({outcome: 'in-doubt'});
  });

  test('of an unknown record is refused, and its outcome has isGone set', async () => {
    const {client} = await clientOf(INVALID, {status: 400});
    expect(await client.jobs.update('1', {name: 'A'})).toMatchObject({
      outcome: 'refused',
      isGone: true,
      message: 'Invalid job.',
    });
  });

  test('of a field that cannot be written fails and sends nothing', async () => {
    const {client, seen} = await clientOf('');
    await expect(client.customers.create({customer_number: '5'})).rejects.toThrow(RecordError);
    expect(seen).toEqual([]);
  });
});
