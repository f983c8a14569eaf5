// Records in the console: how they are found, and what is told of each.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Person} from './place.ts';
import {openRecords, type RecordsPlace, writeAsSweep} from './records-place.ts';

let place: RecordsPlace;
let person: Person;
let admin: Person;

beforeAll(async () => {
  place = await openRecords();
  person = await place.person();
  admin = await place.person({role: 'admin'});
});
afterAll(() => place?.close());

const numbers = async (q: string) => {
  const {hits} = await person.json(`/records?q=${encodeURIComponent(q)}`);
  return hits.map((hit: {stream: string; number: string | null}) => `${hit.stream} ${hit.number}`);
};

describe('the search for records', () => {
  test('finds records by number in every stream, and no others', async () => {
    expect(await numbers('1')).toEqual(['employees 1', 'customers 1']);
    expect(await numbers('#31')).toEqual(['jobs 31']);
  });

  test.each([
    ['a word of its name', 'wren'],
    ['the beginning of its last word', 'wren o’br'],
    ['a word with an apostrophe', "O'Brien"],
    ['words in any order', 'obrien wren'],
    ['its e-mail address', 'wren.obrien@example.org'],
    ['the beginning of its e-mail address', 'wren.obr'],
    ['its phone number, however it is written', '413.555.0178'],
    ['its phone number with the country', '+1 413 555 0178'],
    ['the end of its phone number', '555-0178'],
    ['the key of another system', 'ERP-21'],
  ])('finds a customer by %s', async (_, q) => {
    expect(await numbers(q)).toEqual(['customers 21']);
  });

  test.each([
    "'",
    '\\',
    "''':*",
    '!&|()',
    ' ',
    'w',
    '9'.repeat(40),
    '\u{1F600}',
    '%',
    'O’',
    'a:*b',
  ])('answers %j without an error', async (q) => {
    expect((await person.get(`/records?q=${encodeURIComponent(q)}`)).status).toBe(200);
  });

  test('finds a record without a number by its name', async () => {
    expect(await numbers('quill')).toEqual(['customers null']);
  });

  test('finds records only in accounts that the viewer may see', async () => {
    const {hits} = await person.json('/records?q=acme');
    expect(hits.map((hit: {account: string}) => hit.account)).toEqual(['acme']);
    expect((await admin.json('/records?q=acme')).hits).toHaveLength(2);
    expect((await admin.json('/records?q=acme&account=other')).hits).toMatchObject([
      {account: 'other'},
    ]);
  });

  test('lists the latest changed and new records if nothing is typed', async () => {
    const {latest} = await person.json('/records');
    const told = latest.map(({stream, number, name}: Record<string, string>) =>
      [stream, number, name].join(' '),
    );
    expect(told).toContain('customers  Quill Hall');
    expect(told).toContain('jobs 31 Boiler and pump');
    expect((await person.get('/records')).text).toMatch(/href="\/records\/customers\/row-\d+"/);
  });

  test('shows at most fifty hits and notes that there are more', async () => {
    await writeAsSweep(
      place,
      `INSERT INTO warehouse.tasks (account_id, id, name, _sweep_id) SELECT $1, 5000 + n,
        'Sweeping up', 1 FROM generate_series(1, 60) AS n`,
    );
    const story = await person.json('/records?q=sweeping');
    expect(story.hits).toHaveLength(50);
    expect((await person.get('/records?q=sweeping')).text).toContain('The first 50 of more');
  });

  test('shows the nearest records if nothing is found', async () => {
    const {text} = await person.get('/records?q=30');
    expect(text).toContain('Nothing was found for “30”');
    expect(text).toContain('href="/records/jobs/31"');
    expect((await person.json('/records?q=wrenley')).nearest).toMatchObject([{number: '21'}]);
  });
});

describe('the page of a record', () => {
  test('shows which sweep wrote each value and each part', async () => {
    const {record} = await person.json('/records/jobs/31');
    const total = record.values.find(({field}: {field: string}) => field === 'total');
    expect(total).toMatchObject({value: '24.90', writer: {kind: 'sweep', sweepId: '2', page: 5}});
    expect(record.parts).toMatchObject([
      {table: 'job_charges', rows: [{sweepId: '2'}, {sweepId: '2'}]},
    ]);
    expect(record.pointedAt).toEqual([{stream: 'customers', number: '21', name: "Wren O'Brien"}]);
    const {text} = await person.get('/records/jobs/31');
    expect(text).toContain('sweep 2 (full, page 5, certified)');
    expect(text).toContain('href="/records/customers/21"');
  });

  test('shows the change on its way to the service, and filters fields by name', async () => {
    const {text} = await person.get('/records/jobs/31');
    expect(text).toContain('<dt>total</dt><dd>24.90</dd>');
    expect(text.indexOf('Job charges')).toBeLessThan(text.indexOf('<h2>Fields</h2>'));
    const found = (await person.get('/records/jobs/31?find=descr')).text;
    expect(found).toContain('<details open>');
    expect(found).toContain('?field=description');
    expect(found).not.toContain('?field=total');
    expect(text).toContain('On its way to the service');
    expect(text).toMatch(/href="\/changes\/\d+"/);
  });

  test('shows named fields under their names, and folds fields without a column', async () => {
    const {record} = await person.json('/records/customers/21');
    const entrance = record.values.find(({field}: {field: string}) => field === 'custom_text1');
    expect(entrance).toMatchObject({promotedAs: 'entrance', value: 'Back door'});
    expect(record.attributes).toMatchObject([{field: 'custom_text2', value: 'Gate'}]);
    expect((await person.get('/records/customers/21')).text).toContain(
      '1 more fields that no column takes',
    );
  });

  test('links from a customer to its jobs', async () => {
    expect((await person.get('/records/customers/21')).text).toContain('href="/records/jobs/32"');
  });

  test('shows the answer of the service if the record is deleted', async () => {
    const {text} = await person.get('/records/jobs/32');
    expect(text).toContain('the service said 404: “Invalid job.”');
  });

  test('escapes HTML in its values', async () => {
    const {text} = await person.get('/records/customers/21');
    expect(text).not.toContain('<img src=x');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });

  test('can be opened by row if the record has no number', async () => {
    const {rows} = await place.pool.query(
      `SELECT row_id FROM warehouse.customers WHERE name = 'Quill Hall'`,
    );
    const {status, text} = await person.get(`/records/customers/row-${rows[0].row_id}`);
    expect(status).toBe(200);
    expect(text).toContain('Customer without a number');
    expect(text).toContain('Quill Hall');
  });

  test('answers 404 for a record of another account', async () => {
    const {rows} = await place.pool.query(
      'SELECT row_id FROM warehouse.jobs WHERE account_id = $1',
      [place.stranger.accountId],
    );
    expect((await person.get(`/records/jobs/row-${rows[0].row_id}`)).status).toBe(404);
    expect((await person.get('/records/jobs/11?account=other')).status).toBe(404);
  });

  test('offers a choice if several accounts have the record', async () => {
    const {status, text} = await admin.get('/records/jobs/11');
    expect(status).toBe(300);
    expect(text).toContain('href="/records/jobs/11?account=other"');
    expect((await admin.get('/records/jobs/11?account=other')).status).toBe(200);
  });

  test('answers 404 with the answer of the service and the nearest record', async () => {
    const {status, text} = await person.get('/records/jobs/33');
    expect(status).toBe(404);
    expect(text).toContain('the service said 404: Never heard of it.');
    expect(text).toContain('href="/records/jobs/32"');
  });

  test.each([
    '/records/jobs/x',
    '/records/jobs/0',
    '/records/jobs/row-x',
    '/records/boats/1',
    '/records/jobs/99999999999999999999',
  ])('answers 404 at %s', async (path) => {
    expect((await person.get(path)).status).toBe(404);
  });
});
