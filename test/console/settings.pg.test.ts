// Settings of the business on a page: an owner sets them without SQL, and nobody else does.

import {afterAll, beforeAll, expect, test} from 'vitest';
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

test('an admin sets currency and hours; answers come, and the audit has both', async () => {
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
  ['currency', {currency: 'euro'}, 'expected three letters'],
  ['hours', {hours2: '25'}, 'hours on Wednesday: expected a number from 0 to 24'],
  ['days', {repeat: '1.5'}, 'expected a whole number'],
])('%s that cannot be are refused, and nothing is lost', async (_, fields, words) => {
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

test('an operator reads the settings of the own account, and changes none', async () => {
  const operator = await place.person();
  const {text} = await operator.get('/settings');
  expect(text).not.toContain('action="/settings"');
  expect(text).not.toContain('other');
  const refused = await operator.post('/settings', {account: 'acme', currency: 'USD'});
  expect(refused.status).toBe(403);
});
