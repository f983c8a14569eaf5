// Settings of the business on a page: an owner sets them without SQL, and nobody else does.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

const hours = {hours0: '8', hours1: '8', hours2: '8', hours3: '8', hours4: '6,5'};

async function readSettings() {
  const {rows} = await place.pool.query(
    `SELECT currency, working_hours::float8[] AS hours, repeat_visit_days AS repeat
       FROM mart.settings WHERE account_key = $1`,
    [place.account.accountId],
  );
  return rows;
}

test('an admin sets currency and hours; answers work, and the audit records it', async () => {
  const admin = await place.person({role: 'admin'});
  const before = await admin.get('/business/ask/utilisation?account=acme');
  expect(before.text).toContain('href="/settings?account=acme"');
  const saved = await admin.post('/settings', {account: 'acme', currency: 'eur', ...hours});
  expect(saved.status).toBe(303);
  expect(await readSettings()).toEqual([
    {currency: 'EUR', hours: [8, 8, 8, 8, 6.5, 0, 0], repeat: null},
  ]);
  const after = await admin.get('/business/ask/utilisation?account=acme');
  expect(after.text).not.toContain('working hours of a technician');
  const {rows} = await place.pool.query(
    `SELECT subject, after FROM sync.audit WHERE action = 'settings.save'`,
  );
  expect(rows).toMatchObject([{subject: 'settings of acme', after: {currency: 'EUR'}}]);
});

test.each([
  [
    'currency',
    {currency: 'euro'},
    'currency: expected a currency of three capital letters, such as EUR',
  ],
  ['hours', {hours2: '25'}, 'hours on Wednesday: expected hours of a day, 0 to 24'],
  ['days', {repeat: '1.5'}, 'repeat visit: expected whole days, 1 to 365'],
])('a wrong value for %s is rejected, and no setting changes', async (_, fields, words) => {
  const admin = await place.person({role: 'admin'});
  const before = await readSettings();
  const refused = await admin.post('/settings', {account: 'acme', ...fields});
  expect(refused.status).toBe(422);
  expect(refused.text).toContain(words);
  expect(await readSettings()).toEqual(before);
});

test('a closed day is added and removed', async () => {
  const admin = await place.person({role: 'admin'});
  const day = {account: 'acme', date: '2026-12-25'};
  await admin.post('/settings/closed-day', {...day, name: 'Christmas'});
  expect((await admin.json('/settings')).accounts).toMatchObject([
    {account: 'acme', closedDays: [{date: '2026-12-25', name: 'Christmas'}]},
    {account: 'other', closedDays: []},
  ]);
  await admin.post('/settings/open-day', day);
  expect((await admin.json('/settings?account=acme')).accounts[0].closedDays).toEqual([]);
});

describe('names for ids of the service', () => {
  // A page is read once a second for all who look at it: what it said before is of no use here.
  let place: Place;
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place?.close());

  const source = {account: 'acme', kind: 'customer_source', id: '7'};
  const unnamed = async () => {
    const admin = await place.person({role: 'admin'});
    return (await admin.json('/settings?account=acme')).accounts[0].unlabelled;
  };

  test('an id without a name is listed, gets a name, and answers show the name', async () => {
    const {accountId} = place.account;
    await inSweepTransaction(place.pool, async (client) => {
      await client.query(
        `UPDATE warehouse.customers SET customer_source_id = 7 WHERE account_id = $1
           AND customer_number = 1`,
        [accountId],
      );
      await client.query(
        `UPDATE warehouse.jobs SET status = 'complete', completed_on = now() - interval '9 days',
           customer_id = 101, subtotal = 50, total = 50 WHERE account_id = $1`,
        [accountId],
      );
    });
    await place.pool.query('SELECT sync.refresh_star()');
    expect(await unnamed()).toEqual([{kind: 'customer_source', id: '7'}]);
    const admin = await place.person({role: 'admin'});
    expect((await admin.get('/settings?account=acme')).text).toContain(
      'aria-label="Name of customer source 7"',
    );
    const answer = '/business/ask/work-mix?by=lead-source&account=acme';
    expect((await admin.get(answer)).text).toContain('source 7');
    expect((await admin.post('/settings/label', {...source, label: ' Radio '})).status).toBe(303);
    expect(await unnamed()).toEqual([]);
    expect((await admin.get(answer)).text).toContain('Radio');
    const {rows} = await place.pool.query('SELECT kind, id, label FROM mart.labels');
    expect(rows).toEqual([{kind: 'customer_source', id: '7', label: 'Radio'}]);
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.get('/settings')).text).toMatch(/>customer source<[\s\S]*?>Radio</);
  });

  test('an empty name deletes the name', async () => {
    const admin = await place.person({role: 'admin'});
    await admin.post('/settings/label', {...source, label: 'Radio'});
    await admin.post('/settings/label', {...source, label: ' '});
    expect((await place.pool.query('SELECT FROM mart.labels')).rowCount).toBe(0);
  });

  test.each([
    [{kind: 'shoe_size'}, 'got "shoe_size 7"'],
    [{id: '0'}, 'got "customer_source 0"'],
    [{account: 'nobody'}, 'There is no account'],
  ])('%j is rejected', async (given, words) => {
    const admin = await place.person({role: 'admin'});
    const {text} = await admin.post('/settings/label', {...source, label: 'x', ...given});
    expect(text.replaceAll('&quot;', '"')).toContain(words);
    expect((await place.pool.query('SELECT FROM mart.labels')).rowCount).toBe(0);
  });
});

test('a technician can get separate hours, and lose them again', async () => {
  const admin = await place.person({role: 'admin'});
  const read = async () => (await admin.json('/settings?account=acme')).accounts[0].capacity;
  const one = {account: 'acme', employee: '2'};
  expect((await admin.post('/settings/capacity', {...one, ...hours})).status).toBe(303);
  expect(await read()).toEqual([{employeeNumber: '2', workingHours: [8, 8, 8, 8, 6.5, 0, 0]}]);
  const refused = await admin.post('/settings/capacity', {...one, employee: '3', ...hours});
  expect([refused.status, refused.text]).toEqual([
    422,
    expect.stringContaining('expected the number of an employee of acme'),
  ]);
  expect((await admin.post('/settings/capacity', one)).status).toBe(303);
  expect(await read()).toEqual([]);
});

test('an operator sees the settings of one account and cannot change them', async () => {
  const operator = await place.person();
  const {text} = await operator.get('/settings');
  expect(text).not.toContain('action="/settings"');
  expect(text).not.toContain('other');
  for (const path of ['/settings', '/settings/label', '/settings/capacity'])
    expect((await operator.post(path, {account: 'acme', currency: 'USD'})).status).toBe(403);
});
