// Records in the console: how they are found, what is told of each, at any moment, and what may be done.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../../src/warehouse/postgres/database.ts';
import {openPlace, type Person, type Place} from './place.ts';

let place: Place;
let person: Person;
let masked: Person;
let admin: Person;

/** The moments after each step. */
const after: Record<string, string> = {};

beforeAll(async () => {
  place = await openPlace();
  person = await place.person();
  masked = await place.person({masks: true});
  admin = await place.person({role: 'admin'});
  await tellStory();
});
afterAll(() => place?.close());

async function step(name: string, ...statements: readonly string[]): Promise<void> {
  await inSweepTransaction(place.pool, async (client) => {
    for (const statement of statements) await client.query(statement, [place.account.accountId]);
  });
  const {rows} = await place.pool.query('SELECT clock_timestamp() AS at');
  after[name] = rows[0].at;
}

/** Customer 21 is found by many ways; job 31 has a past; job 32 is gone; a customer was made here. */
async function tellStory(): Promise<void> {
  const {accountId} = place.account;
  await step(
    'made',
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
     SELECT $1, 'jobs', 'full', 'schedule', 'certified', now(), now() FROM generate_series(1, 3)`,
    `INSERT INTO warehouse.customers (account_id, customer_number, id, name, company_name, phone_number, email_address, external_key, attributes, _sweep_id)
     VALUES ($1, 21, 2100, 'Wren O''Brien', '<img src=x onerror=alert(1)>', '(413) 555-0178', 'wren.obrien@example.org', 'ERP-21', '{"custom_text1": "Back door", "custom_text2": "Gate"}', 1)`,
    `INSERT INTO warehouse.jobs (account_id, job_number, id, customer_number, customer_id, name, status, total, description, _sweep_id, _page)
     VALUES ($1, 31, 3100, 21, 2100, 'Boiler', 'scheduled', 10.00, 'Key under the mat', 1, 4), ($1, 32, 3200, 21, 2100, 'Pump', 'scheduled', 5, NULL, 1, 4)`,
    `INSERT INTO warehouse.job_charges (account_id, id, job_number, description, total, _sweep_id) VALUES ($1, 301, 31, 'Valve', 4, 1)`,
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id)
     VALUES ($1, 'customers', 'custom_text1', 'customers', '{text}', 1), ($1, 'customers', 'custom_text2', 'customers', '{text}', 1)`,
  );
  await place.pool.query(
    `UPDATE sync.fields SET promoted_as = 'entrance' WHERE account_id = $1 AND field = 'custom_text1'`,
    [accountId],
  );
  await step(
    'priced',
    `UPDATE warehouse.jobs SET total = 24.90, _sweep_id = 2, _page = 5 WHERE account_id = $1 AND job_number = 31`,
    `UPDATE warehouse.job_charges SET total = 18.90, _sweep_id = 2 WHERE account_id = $1 AND id = 301`,
    `INSERT INTO warehouse.job_charges (account_id, id, job_number, description, total, _sweep_id) VALUES ($1, 302, 31, 'Labour', 6, 2)`,
  );
  await step(
    'gone',
    `UPDATE warehouse.jobs SET _deleted_at = now(), _sweep_id = 3, _page = NULL WHERE account_id = $1 AND job_number = 32`,
    `INSERT INTO sync.tombstones (sweep_id, number, account_id, stream, status, words, asked_at, written_at)
     VALUES (3, 32, $1, 'jobs', 404, 'Invalid job.', now(), now())`,
    `INSERT INTO sync.absent_numbers (account_id, stream, sweep_id, asked_at, number, status, words)
     VALUES ($1, 'jobs', 3, now(), 33, 404, 'Never heard of it.')`,
  );
  await place.pool.query(
    `UPDATE warehouse.jobs SET name = 'Boiler and pump' WHERE account_id = $1 AND job_number = 31`,
    [accountId],
  );
  await place.pool.query(`INSERT INTO warehouse.customers (account_id, name) VALUES ($1, 'Quill Hall')`, [
    accountId,
  ]);
}

const numbers = async (q: string) => {
  const {hits} = await person.json(`/records?q=${encodeURIComponent(q)}`);
  return hits.map((hit: {stream: string; number: string | null}) => `${hit.stream} ${hit.number}`);
};

describe('a record is found', () => {
  test('by its number, in whichever stream, before anything else', async () => {
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
  ])('by %s', async (_, q) => {
    expect(await numbers(q)).toEqual(['customers 21']);
  });

  test.each(["'", '\\', "''':*", '!&|()', ' ', 'w', '9'.repeat(40), '\u{1F600}', '%', 'O’', 'a:*b'])(
    'never by an error: %j',
    async (q) => {
      expect((await person.get(`/records?q=${encodeURIComponent(q)}`)).status).toBe(200);
    },
  );

  test('only in accounts that the viewer may see', async () => {
    const {hits} = await person.json('/records?q=acme');
    expect(hits.map((hit: {account: string}) => hit.account)).toEqual(['acme']);
    expect((await admin.json('/records?q=acme')).hits).toHaveLength(2);
    expect((await admin.json('/records?q=acme&account=other')).hits).toMatchObject([{account: 'other'}]);
  });

  test('among the latest where nothing is typed: changed ones, and those that were made here', async () => {
    const {latest} = await person.json('/records');
    const told = latest.map(({stream, number, name}: Record<string, string>) =>
      [stream, number, name].join(' '),
    );
    expect(told).toContain('customers  Quill Hall');
    expect(told).toContain('jobs 31 Boiler and pump');
    expect((await person.get('/records')).text).toMatch(/href="\/records\/customers\/row-\d+"/);
  });

  test('at most fifty at once, and says that there are more', async () => {
    await step(
      'many',
      `INSERT INTO warehouse.tasks (account_id, id, name, _sweep_id) SELECT $1, 5000 + n, 'Sweeping up', 1 FROM generate_series(1, 60) AS n`,
    );
    const story = await person.json('/records?q=sweeping');
    expect(story.hits).toHaveLength(50);
    expect((await person.get('/records?q=sweeping')).text).toContain('The first 50 of more');
  });

  test('and what is not there is told with what is nearest', async () => {
    const {text} = await person.get('/records?q=30');
    expect(text).toContain('Nothing was found for “30”');
    expect(text).toContain('href="/records/jobs/31"');
    expect((await person.json('/records?q=wrenley')).nearest).toMatchObject([{number: '21'}]);
  });
});

describe('a record', () => {
  test('tells each value with where it came from, and its parts with theirs', async () => {
    const {record} = await person.json('/records/jobs/31');
    const total = record.values.find(({field}: {field: string}) => field === 'total');
    expect(total).toMatchObject({value: '24.90', writer: {kind: 'sweep', sweepId: '2', page: 5}});
    expect(record.parts).toMatchObject([{table: 'job_charges', rows: [{sweepId: '2'}, {sweepId: '2'}]}]);
    expect(record.pointedAt).toEqual([{stream: 'customers', number: '21', name: "Wren O'Brien"}]);
    const {text} = await person.get('/records/jobs/31');
    expect(text).toContain('sweep 2 (full, page 5, certified)');
    expect(text).toContain('href="/records/customers/21"');
  });

  test('tells the change that is on its way', async () => {
    const {text} = await person.get('/records/jobs/31');
    expect(text).toContain('On its way to the service');
    expect(text).toMatch(/href="\/changes\/\d+"/);
  });

  test('tells named fields under their names, and folds away what no column takes', async () => {
    const {record} = await person.json('/records/customers/21');
    const entrance = record.values.find(({field}: {field: string}) => field === 'custom_text1');
    expect(entrance).toMatchObject({promotedAs: 'entrance', value: 'Back door'});
    expect(record.attributes).toMatchObject([{field: 'custom_text2', value: 'Gate'}]);
    expect((await person.get('/records/customers/21')).text).toContain('1 more fields that no column takes');
  });

  test('lists the jobs of a customer, and leads to them', async () => {
    expect((await person.get('/records/customers/21')).text).toContain('href="/records/jobs/32"');
  });

  test('that is gone says what the service said', async () => {
    const {text} = await person.get('/records/jobs/32');
    expect(text).toContain('the service said 404: “Invalid job.”');
  });

  test('shows text of strangers as text', async () => {
    const {text} = await person.get('/records/customers/21');
    expect(text).not.toContain('<img src=x');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });

  test('without a number is reached by its row', async () => {
    const {rows} = await place.pool.query(`SELECT row_id FROM warehouse.customers WHERE name = 'Quill Hall'`);
    const {status, text} = await person.get(`/records/customers/row-${rows[0].row_id}`);
    expect(status).toBe(200);
    expect(text).toContain('Customer without a number');
    expect(text).toContain('Quill Hall');
  });

  test('of another account is not there', async () => {
    const {rows} = await place.pool.query('SELECT row_id FROM warehouse.jobs WHERE account_id = $1', [
      place.stranger.accountId,
    ]);
    expect((await person.get(`/records/jobs/row-${rows[0].row_id}`)).status).toBe(404);
    expect((await person.get('/records/jobs/11?account=other')).status).toBe(404);
  });

  test('that several accounts have asks which', async () => {
    const {status, text} = await admin.get('/records/jobs/11');
    expect(status).toBe(300);
    expect(text).toContain('href="/records/jobs/11?account=other"');
    expect((await admin.get('/records/jobs/11?account=other')).status).toBe(200);
  });

  test('that is not there is told with what the service said, and the nearest', async () => {
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
  ])('is not at %s', async (path) => {
    expect((await person.get(path)).status).toBe(404);
  });
});

describe('one field', () => {
  test('is told from its beginning', async () => {
    const {field} = await person.json('/records/jobs/31?field=total');
    expect(field).toMatchObject({
      field: 'total',
      value: '24.90',
      earlier: [{value: '10.00', writer: {sweepId: '1'}}],
    });
    expect((await person.get('/records/jobs/31?field=total')).text).toContain('10.00');
  });

  test('that was never seen is refused by its nearest', async () => {
    const {status, text} = await person.get('/records/jobs/31?field=totl');
    expect(status).toBe(404);
    expect(text).toContain('did you mean total?');
  });
});

describe('a past moment', () => {
  test('shows the record and its parts as they stood, and marks what differs from now', async () => {
    const {record} = await person.json(`/records/jobs/31?at=${after.made}`);
    expect(record).toMatchObject({at: after.made, version: 1, isThere: true});
    const total = record.values.find(({field}: {field: string}) => field === 'total');
    expect(total).toMatchObject({value: '10.00', now: '24.90'});
    const [charges] = record.parts;
    expect(charges.rows).toMatchObject([
      {fields: {description: 'Valve', total: '4'}, differs: 'changed since'},
    ]);
    expect(charges.laterCount).toBe(1);
    const {text} = await person.get(`/records/jobs/31?at=${after.made}`);
    expect(text).toContain('As of ');
    expect(text).toContain('1 came later');
    expect(text).toContain('Back to now');
  });

  test('is reached by the number of a version, as the slider sends it', async () => {
    const now = await person.get('/records/jobs/31');
    expect(now.text).toMatch(/type="range" name="version" min="1" max="3" value="3"/);
    const {record} = await person.json('/records/jobs/31?version=2');
    expect(record).toMatchObject({version: 2, at: record.moments[1]});
    expect((await person.json('/records/jobs/31?version=3')).record.at).toBeNull();
  });

  test('before the first version says that there was no row', async () => {
    const {record} = await person.json('/records/jobs/31?at=2020-01-01T00:00');
    expect(record).toMatchObject({isThere: false, version: 0, values: []});
    expect((await person.get('/records/jobs/31?at=2020-01-01T00:00')).text).toContain('There was no row');
  });

  test('is read by the clock of the account', async () => {
    const {record} = await person.json('/records/jobs/31?at=2020-01-01T00:00');
    expect(record.at).toBe('2020-01-01T05:00:00.000Z');
  });

  test('before a deletion shows the record as it lived', async () => {
    const {record} = await person.json(`/records/jobs/32?at=${after.priced}`);
    expect(record).toMatchObject({isThere: true, deletedSince: null});
  });

  test.each(['yesterday', '2026-13-01T00:00', '2026-03-08T02:30'])('%s is refused with words', async (at) => {
    expect((await person.get(`/records/jobs/31?at=${at}`)).status).toBe(422);
  });
});

test('a long past is told twenty versions at a time', async () => {
  for (let n = 1; n <= 25; n++)
    await step(
      'moved',
      `UPDATE warehouse.tasks SET name = 'Call ${n}', _sweep_id = 1 WHERE account_id = $1 AND id = 61`,
    );
  const {record} = await person.json('/records/tasks/61');
  expect(record).toMatchObject({events: {length: 20}, olderFrom: 20});
  const older = await person.json('/records/tasks/61?older=20');
  expect(older.record).toMatchObject({events: {length: 6}, olderFrom: null});
  expect(older.record.events.at(-1).what).toBe('appeared');
});

describe('somebody whose key masks', () => {
  const personal = /Wren|Brien|413|0178|wren\.obrien|Back door|Gate|Boiler|Pump|Key under|Quill|Valve|onerror/;

  test.each([
    '/records?q=21',
    '/records?q=ERP-21',
    '/records/customers/21',
    '/records/jobs/31',
    '/records/jobs/31?version=1',
    '/records/jobs/31?field=description',
    '/records/customers/21?field=custom_text1',
    '/records',
  ])('sees nothing personal at %s', async (path) => {
    for (const asked of [path, `${path}${path.includes('?') ? '&' : '?'}as=json`]) {
      const {status, text} = await masked.get(asked);
      expect(status).toBe(200);
      expect(text).not.toMatch(personal);
      expect(text).toContain('•••');
    }
  });

  test('finds nobody by name, phone number or address', async () => {
    for (const q of ['wren', '555-0178', 'wren.obrien@example.org'])
      expect(await masked.json(`/records?q=${q}`)).toMatchObject({hits: [], nearest: []});
    expect((await masked.json('/records?q=21')).hits).toMatchObject([{number: '21', name: '•••'}]);
  });

  test('sees what is not personal', async () => {
    const {text} = await masked.get('/records/jobs/31');
    expect(text).toContain('24.90');
    expect(text).toContain('scheduled');
  });
});

describe('to fetch a record again', () => {
  const sweeps = async () =>
    (
      await place.pool.query(
        `SELECT stream, mode, record_number, state FROM sync.sweeps WHERE mode = 'record' ORDER BY 1, 3`,
      )
    ).rows;

  test('makes the sweep that the command makes, once, with its entry in the audit', async () => {
    const asked = await person.post('/records/jobs/31/fetch', {account: 'acme', back: '/records/jobs/31'});
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/records/jobs/31']);
    await person.post('/records/jobs/31/fetch', {account: 'acme'});
    expect(await sweeps()).toEqual([{stream: 'jobs', mode: 'record', record_number: '31', state: 'due'}]);
    const {rows} = await place.pool.query(`SELECT action, subject FROM sync.audit ORDER BY audit_id LIMIT 1`);
    expect(rows).toEqual([{action: 'records.fetch', subject: 'jobs 31'}]);
    expect((await person.get('/records/jobs/31')).text).toContain('fetches it as soon as a worker is free');
  });

  test('is not offered to a viewer, nor done by a form made by hand', async () => {
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.get('/records/jobs/32')).text).not.toContain('Fetch again');
    const before = await sweeps();
    expect((await viewer.post('/records/jobs/32/fetch', {account: 'acme'})).status).toBe(403);
    expect(await sweeps()).toEqual(before);
  });

  test('is refused in an account that is not seen, is paused, or of a row without a number', async () => {
    const before = await sweeps();
    expect((await person.post('/records/jobs/11/fetch', {account: 'other'})).status).toBe(404);
    expect((await person.post('/records/customers/row-1/fetch', {account: 'acme'})).status).toBe(422);
    await place.pool.query(
      `UPDATE sync.accounts SET state = 'paused', state_since = now() WHERE name = 'acme'`,
    );
    const {status, text} = await person.post('/records/jobs/32/fetch', {account: 'acme'});
    await place.pool.query(`UPDATE sync.accounts SET state = 'active' WHERE name = 'acme'`);
    expect(status).toBe(422);
    expect(text).toContain('account acme is paused');
    expect(await sweeps()).toEqual(before);
  });
});
