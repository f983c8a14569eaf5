// Fields in the console: what the service was ever seen to send, what changed in it, and names for
// what has no column.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openPlace, type Person, type Place} from './place.ts';

let place: Place;
let person: Person;
let admin: Person;

beforeAll(async () => {
  place = await openPlace();
  person = await place.person();
  admin = await place.person({role: 'admin'});
  await inSweepTransaction(place.pool, async (client) => {
    const {accountId} = place.account;
    await client.query(
      `INSERT INTO sync.fields (account_id, table_name, field, stream, types, column_name,
        filled_share, last_sweep_id)
       VALUES ($1, 'jobs', 'total', 'jobs', '{decimal}', 'total', 0.5, 1),
         ($1, 'jobs', 'custom_text1', 'jobs', '{text}', NULL, 0.004, 1),
              ($1, 'jobs', 'custom_text2', 'jobs', '{}', NULL, 0, 1),
                ($1, 'customers', 'token', 'customers', '{secret}', NULL, NULL, 1),
              ($1, 'customers', '<b>odd</b>', 'customers', '{text}', NULL, 1, 1)`,
      [accountId],
    );
    await client.query(
      `INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id, at)
       VALUES ($1, 'jobs', 'custom_text1', 'retyped', 'sent as text; before as integer', 7, now()),
              ($1, 'jobs', 'total', 'new', 'long ago', 3, now() - interval '91 days')`,
      [accountId],
    );
    await client.query(
      `UPDATE warehouse.jobs SET extra = jsonb_build_object('custom_text1', 'Gate ' || job_number)
        WHERE account_id = $1`,
      [accountId],
    );
  });
});
afterAll(() => place?.close());

const promoted = async (field = 'custom_text1') =>
  (await place.pool.query('SELECT promoted_as FROM sync.fields WHERE field = $1', [field])).rows[0]
    .promoted_as;
const give = (who: Person, fields: Readonly<Record<string, string>>, field = 'custom_text1') =>
  who.post(`/fields/jobs/${field}/name`, {
    account: 'acme',
    was: '',
    back: '/fields?table=jobs&field=custom_text1',
    ...fields,
  });

describe('the list of fields', () => {
  test('shows the type, the column and the filled share of each field', async () => {
    const page = await person.get('/fields?table=jobs');
    const text = page.text.replaceAll(/ data-name="[^"]*"/g, '');
    expect(text).toContain('3 fields of jobs');
    expect(text).toMatch(
      /custom_text1<\/a><\/td><td>text<\/td><td>extra<\/td><td class="number">under 1 %/,
    );
    expect(text).toMatch(/total<\/a><\/td><td>decimal<\/td><td>total<\/td><td class="number">50 %/);
    expect(text).toContain('always empty');
  });

  test('opens with jobs and lists every table that has fields', async () => {
    const {table, tables} = await person.json('/fields');
    expect(table).toBe('jobs');
    expect(tables).toEqual([
      {table: 'customers', count: 2, promoted: 0},
      {table: 'jobs', count: 3, promoted: 0},
    ]);
  });

  test('shows only changes of fields in the last 90 days', async () => {
    const {events} = await person.json('/fields');
    expect(events).toMatchObject([{field: 'custom_text1', kind: 'retyped', sweepId: '7'}]);
    expect((await person.get('/fields')).text).not.toContain('long ago');
  });

  test('shows only the fields of the selected account', async () => {
    expect((await admin.json('/fields?account=other')).tables).toEqual([]);
    expect((await admin.get('/fields?account=other')).text).toContain('No field was seen yet');
  });

  test('escapes HTML in field names', async () => {
    expect((await person.get('/fields?table=customers')).text).not.toContain('<b>odd');
  });

  test.each(['/fields?table=boats', '/fields?table=jobs&field=boats'])(
    'answers 404 for %s',
    async (path) => {
      expect((await person.get(path)).status).toBe(404);
    },
  );

  test.each([
    ['/fields?table=jbos', 'did you mean jobs?'],
    ['/fields?table=jobs&field=custom_tex1', 'did you mean custom_text1?'],
    ['/fields?field=custom_tex1', 'did you mean custom_text1?'],
  ])('suggests the nearest name for %s', async (path, suggestion) => {
    expect((await person.get(path)).text).toContain(suggestion);
  });
});

describe('one field', () => {
  test('is shown with examples of its values', async () => {
    const {fields} = await person.json('/fields?table=jobs&field=custom_text1');
    expect(fields[0].examples.toSorted()).toEqual(['Gate 11', 'Gate 12']);
    expect((await person.json('/fields?table=jobs&field=total')).fields[0].examples).toEqual([
      '12.50',
    ]);
  });

  test('that may be personal has no examples for a person with a masking key', async () => {
    const masked = await place.person({masks: true});
    for (const path of [
      '/fields?table=jobs&field=custom_text1',
      '/fields?table=jobs&field=custom_text1&as=json',
    ])
      expect((await masked.get(path)).text).not.toContain('Gate');
    expect((await masked.json('/fields?table=jobs&field=total')).fields[0].examples).toEqual([
      '12.50',
    ]);
  });

  test('that is a secret is shown as never stored, and cannot be named', async () => {
    const {text} = await admin.get('/fields?table=customers&field=token&account=acme');
    expect(text).toContain('a secret: dropped, never stored');
    expect(text).not.toContain('Give it this name');
  });
});

describe('a name for a field', () => {
  test('is given by an admin, adds a column to mart, and can be removed', async () => {
    expect((await admin.get('/fields?table=jobs&field=custom_text1&account=acme')).text).toContain(
      'Give it this name',
    );
    const given = await give(admin, {name: 'entrance'});
    expect(given.status).toBe(303);
    const {rows} = await place.pool.query(
      'SELECT entrance FROM mart.jobs WHERE job_number = 11 AND account_id = 1',
    );
    expect(rows).toEqual([{entrance: 'Gate 11'}]);
    const audit = await place.pool.query(
      `SELECT action, subject, before, after FROM sync.audit ORDER BY audit_id DESC LIMIT 1`,
    );
    expect(audit.rows).toEqual([
      {
        action: 'fields.name',
        subject: 'field jobs.custom_text1 of account acme',
        before: {promotedAs: null},
        after: {promotedAs: 'entrance'},
      },
    ]);
    expect((await give(admin, {was: 'entrance', name: ''})).status).toBe(303);
    expect(await promoted()).toBeNull();
  });

  test('is refused to an operator, and nothing is written', async () => {
    expect((await person.get('/fields?table=jobs&field=custom_text1')).text).not.toContain(
      'Give it this name',
    );
    expect((await give(person, {name: 'entrance'})).status).toBe(403);
    expect(await promoted()).toBeNull();
  });

  test.each([
    ['total', /is a column of jobs already/],
    ['Not A Name', /expected a name of at most 63 small letters/],
  ])('%s is refused with the reason', async (name, reason) => {
    const {status, text} = await give(admin, {name});
    expect(status).toBe(409);
    expect(text).toMatch(reason);
    expect(await promoted()).toBeNull();
  });

  test("is not removed while a user's view depends on it", async () => {
    await give(admin, {name: 'entrance'});
    await place.pool.query('CREATE VIEW public.doors AS SELECT entrance FROM mart.jobs');
    const {status, text} = await give(admin, {was: 'entrance', name: ''});
    expect(status).toBe(409);
    expect(text).toContain('doors');
    expect(await promoted()).toBe('entrance');
    await place.pool.query('DROP VIEW public.doors');
    await give(admin, {was: 'entrance', name: ''});
  });

  test('is refused if another person has given a different name meanwhile', async () => {
    await give(admin, {name: 'entrance'});
    const {status, text} = await give(admin, {was: '', name: 'gate'});
    expect(status).toBe(409);
    expect(text).toContain('another name meanwhile');
    expect(await promoted()).toBe('entrance');
  });

  test('is refused for an unknown account or an unknown field', async () => {
    expect((await give(admin, {account: 'nowhere', name: 'gate'})).status).toBe(404);
    expect((await give(admin, {name: 'gate'}, 'boats')).status).toBe(409);
  });
});
