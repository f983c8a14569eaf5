// Records in the console for those who may not see all, and the one thing that may be done.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Person} from './place.ts';
import {openRecords, type RecordsPlace, withoutChance} from './records-place.ts';

let place: RecordsPlace;
let person: Person;
let masked: Person;

beforeAll(async () => {
  place = await openRecords();
  person = await place.person();
  masked = await place.person({masks: true});
});
afterAll(() => place?.close());

describe('a person with a masking key', () => {
  const personal =
    /Wren|Brien|413|0178|wren\.obrien|Back door|Gate|Boiler|Pump|Key under|Quill|Valve|onerror/;

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
      expect(withoutChance(text)).not.toMatch(personal);
      expect(text).toContain('•••');
    }
  });

  test('cannot find a record by name, phone number or e-mail address', async () => {
    for (const q of ['wren', '555-0178', 'wren.obrien@example.org'])
      expect(await masked.json(`/records?q=${q}`)).toMatchObject({hits: [], nearest: []});
    expect((await masked.json('/records?q=21')).hits).toMatchObject([{number: '21', name: '•••'}]);
  });

  test('sees values that are not personal', async () => {
    const {text} = await masked.get('/records/jobs/31');
    expect(text).toContain('24.90');
    expect(text).toContain('scheduled');
  });
});

describe('fetching a record again', () => {
  const sweeps = async () =>
    (
      await place.pool.query(
        `SELECT stream, mode, record_number, state FROM sync.sweeps WHERE mode = 'record'
         ORDER BY 1, 3`,
      )
    ).rows;

  test('requests one sweep of the record, with an audit entry', async () => {
    const asked = await person.post('/records/jobs/31/fetch', {
      account: 'acme',
      back: '/records/jobs/31',
    });
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/records/jobs/31']);
    await person.post('/records/jobs/31/fetch', {account: 'acme'});
    expect(await sweeps()).toEqual([
      {stream: 'jobs', mode: 'record', record_number: '31', state: 'due'},
    ]);
    const {rows} = await place.pool.query(
      `SELECT action, subject FROM sync.audit ORDER BY audit_id LIMIT 1`,
    );
    expect(rows).toEqual([{action: 'records.fetch', subject: 'jobs 31'}]);
    expect((await person.get('/records/jobs/31')).text).toContain(
      'fetches it as soon as a worker is free',
    );
  });

  test('is not offered to a viewer, and a handmade form is refused', async () => {
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.get('/records/jobs/32')).text).not.toContain('Fetch again');
    const before = await sweeps();
    expect((await viewer.post('/records/jobs/32/fetch', {account: 'acme'})).status).toBe(403);
    expect(await sweeps()).toEqual(before);
  });

  test('is refused for an unseen or paused account, and for a row without a number', async () => {
    const before = await sweeps();
    expect((await person.post('/records/jobs/11/fetch', {account: 'other'})).status).toBe(404);
    expect((await person.post('/records/customers/row-1/fetch', {account: 'acme'})).status).toBe(
      422,
    );
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
