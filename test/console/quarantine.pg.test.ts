// Records in quarantine: why, since when, what came, and another try.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {quarantineRecords, resolveQuarantine} from '../../src/sweeps/quarantine.ts';
import {openPlace, type Place, withoutLinks} from './place.ts';

let place: Place;
let ids: {readonly numbered: string; readonly unnumbered: string; readonly strange: string};
const expected = 'jobs 11: field subtotal: expected a number';
const reason = `${expected}, got "about Orla's garden"`;

beforeAll(async () => {
  place = await openPlace();
  for (const {accountId} of [place.account, place.stranger]) {
    const {rows} = await place.pool.query(
      `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
       VALUES ($1, 'jobs', 'full', 'schedule', 'certified', now(), now()) RETURNING sweep_id`,
      [accountId],
    );
    const records = [
      {
        page: 2,
        number: '11',
        reason,
        expected,
        xml: '<job><number>11</number><name><img src=x></name></job>',
      },
      {
        page: 1,
        number: null,
        reason: 'jobs: field number: expected a number, got nothing',
        expected: null,
        xml: '<job/>',
      },
    ];
    await inSweepTransaction(place.pool, (client) =>
      quarantineRecords(client, {accountId, stream: 'jobs', sweepId: rows[0].sweep_id, records}),
    );
  }
  const {rows} = await place.pool.query(
    'SELECT quarantine_id AS id, account_id, number FROM sync.quarantine ORDER BY quarantine_id',
  );
  const find = (accountId: string, number: string | null) =>
    rows.find((row) => row.account_id === accountId && row.number === number)?.id ?? '';
  ids = {
    numbered: find(place.account.accountId, '11'),
    unnumbered: find(place.account.accountId, null),
    strange: find(place.stranger.accountId, '11'),
  };
});
afterAll(() => place?.close());

test('the list shows each record with the reason, and none of another account', async () => {
  const person = await place.person();
  const {text} = await person.get('/quarantine');
  expect(text).toContain('2 records could not be read.');
  expect(text).toContain('about Orla');
  expect(text).toContain(`/quarantine/${ids.numbered}/retry`);
  expect(text).toContain('Read the whole list again');
  expect((await person.json('/quarantine?stream=tasks')).entries).toEqual([]);
  expect((await person.json('/quarantine')).entries).toHaveLength(2);
});

test('an entry shows the escaped XML; one of another account answers 404', async () => {
  const person = await place.person();
  const {text} = await person.get(`/quarantine/${ids.numbered}`);
  expect(text).toContain('&lt;img src=x&gt;');
  expect(text).not.toContain('<img src=x>');
  expect((await person.get(`/quarantine/${ids.strange}`)).status).toBe(404);
  expect((await person.get('/quarantine/1;drop')).status).toBe(404);
});

test('a person with a masking key sees the expected type, but not the value', async () => {
  const masked = await place.person({masks: true});
  const {text} = await masked.get(`/quarantine/${ids.numbered}`);
  expect(text).toContain('field subtotal: expected a number, got •••');
  expect((await masked.get(`/quarantine/${ids.unnumbered}`)).text).not.toContain('got nothing');
  const told = [text, JSON.stringify(await masked.json(`/quarantine/${ids.numbered}`))];
  told.push(
    (await masked.get('/quarantine')).text,
    JSON.stringify(await masked.json('/quarantine')),
  );
  for (const each of told) expect(each).not.toMatch(/Orla|img src/);
});

test('a retry requests one sweep of the record and is recorded in the audit', async () => {
  const viewer = await place.person({role: 'viewer'});
  expect((await viewer.get('/quarantine')).text).not.toContain('/retry');
  expect((await viewer.post(`/quarantine/${ids.numbered}/retry`)).status).toBe(403);
  const person = await place.person();
  expect((await person.post(`/quarantine/${ids.numbered}/retry`, {form: 'forged'})).status).toBe(
    403,
  );
  for (const _time of ['once', 'and again'])
    expect((await person.post(`/quarantine/${ids.numbered}/retry`)).status).toBe(303);
  expect(withoutLinks((await person.get('/quarantine')).text)).toContain(
    'requests jobs 11 as soon as a worker is free',
  );
  const {rows} = await place.pool.query(
    `SELECT mode, record_number, state FROM sync.sweeps WHERE mode = 'record'`,
  );
  expect(rows).toEqual([{mode: 'record', record_number: '11', state: 'due'}]);
  const {rows: entries} = await place.pool.query(
    `SELECT subject, after FROM sync.audit WHERE action = 'quarantine.retry'`,
  );
  expect(entries).toHaveLength(2);
  expect(entries[0]).toMatchObject({subject: `quarantine ${ids.numbered}`, after: {number: '11'}});
});

test('a retry is refused without a number, in a paused account, or once resolved', async () => {
  const person = await place.person();
  const tried = (id: string) => person.post(`/quarantine/${id}/retry`);
  expect((await tried(ids.unnumbered)).text).toContain('its number could not be read');
  expect((await tried(ids.strange)).status).toBe(404);
  await person.post('/accounts/acme/pause', {reason: 'stocktaking'});
  expect((await tried(ids.numbered)).text).toContain('account acme is paused');
  await person.post('/accounts/acme/resume');
  await inSweepTransaction(place.pool, (client) =>
    resolveQuarantine(client, {
      accountId: place.account.accountId,
      stream: 'jobs',
      numbers: ['11'],
    }),
  );
  const late = await tried(ids.numbered);
  expect(late.status).toBe(422);
  expect(late.text).toContain('has left quarantine');
  expect((await person.get(`/quarantine/${ids.numbered}?of=now`)).text).toContain(
    'has left quarantine',
  );
});
