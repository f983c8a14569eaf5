// The Accounts page: accounts, keys and the audit, and who may change them.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import type {AccountForm} from '../../src/console/page.ts';
import {FatalError} from '../../src/core/errors.ts';
import {plainConsole} from '../support/plain-console.ts';
import {makePerson, openPlace, type Place} from './place.ts';

const tried: AccountForm[] = [];
let place: Place;
beforeAll(async () => {
  place = await openPlace({
    services: {
      ...plainConsole().services,
      checkAccount: async (name) => `good ${name}: answers`,
      tryAccount: async (given) => {
        tried.push(given);
        if (given.token === 'refused') throw new FatalError('the service refuses the token');
        const {name, url, timeZone} = given;
        const account = {name, apiUrl: url ?? '', timeZone: timeZone ?? 'UTC'};
        return {
          keep: (db) => upsertAccount(db, account),
          describe: () => `account ${name} is added`,
        };
      },
    },
  });
});
afterAll(() => place?.close());

const names = async () =>
  (await place.pool.query('SELECT name FROM sync.accounts ORDER BY name')).rows.map(
    ({name}) => name,
  );

test('a viewer bound to one account sees only that account, and cannot pause it', async () => {
  const {text} = await (await place.person({role: 'viewer'})).get('/accounts');
  expect(text).toContain('example.com/acme');
  expect(text).not.toContain('example.com/other');
  expect(text).not.toContain('/accounts/acme/pause');
});

describe('an admin', () => {
  test('adds an account if its token is accepted; audit and log do not hold it', async () => {
    const admin = await place.person({role: 'admin'});
    const form = {
      name: 'north',
      url: 'https://example.com/north',
      timeZone: 'America/Chicago',
      token: 'tok-123',
    };
    expect((await admin.post('/accounts/add', form)).status).toBe(303);
    expect(await names()).toContain('north');
    const {rows} = await place.pool.query(`SELECT * FROM sync.audit WHERE action = 'accounts.add'`);
    expect(rows).toMatchObject([{subject: 'account north', after: {name: 'north'}}]);
    expect(JSON.stringify(rows) + place.logged.join('')).not.toContain('tok-123');
  });

  test('sees why the service rejects a token, and no account is stored', async () => {
    const admin = await place.person({role: 'admin'});
    const page = await admin.post('/accounts/add', {name: 'south', token: 'refused'});
    expect(page.status).toBe(422);
    expect(page.text).toContain('the service refuses the token. Nothing was done.');
    expect(await names()).not.toContain('south');
  });

  test('adds a key that is shown once, signs in with its role, and can be revoked', async () => {
    const admin = await place.person({role: 'admin'});
    const page = await admin.post('/keys/add', {name: 'dana', role: 'viewer', account: 'acme'});
    const key = /fm_[\w-]{43}/.exec(page.text)?.[0] ?? '';
    expect(admin.cookies()).not.toContain(key);
    const dana = makePerson(place.url);
    await dana.post('/sign-in', {key});
    expect((await dana.get('/accounts')).text).toContain('dana, viewer');
    expect((await admin.get('/accounts')).text).not.toContain(key);
    expect((await admin.post('/keys/dana/revoke')).status).toBe(303);
    expect((await dana.get('/accounts')).status).toBe(303);
    expect((await admin.post('/keys/dana/revoke')).text).toContain('no key dana is in use');
    const {rows} = await place.pool.query('SELECT * FROM sync.audit');
    expect(JSON.stringify(rows) + place.logged.join('')).not.toContain(key);
  });
});

describe('the form that adds a key, with the options of keys add', () => {
  const key = {name: 'shop', role: 'operator', account: 'acme', system: 'tryton'};
  const held = async () =>
    (
      await place.pool.query(
        `SELECT system, holds_deletes AS "holdsDeletes" FROM sync.api_keys WHERE name = 'shop'`,
      )
    ).rows;

  test.each([
    [{role: 'viewer', holdsDeletes: 'yes'}, 'held deletes: expected a key that makes changes'],
    [{system: 'try ton'}, 'outside system: expected'],
    [{role: 'admin'}, 'account: expected all of them, got acme'],
  ])('rejects %j and stores no key', async (fields, words) => {
    const admin = await place.person({role: 'admin'});
    const refused = await admin.post('/keys/add', {...key, ...fields});
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(words)]);
    expect(await held()).toEqual([]);
  });

  test('stores and shows the outside system, and that deletes are held', async () => {
    const admin = await place.person({role: 'admin'});
    expect((await admin.post('/keys/add', {...key, holdsDeletes: 'yes'})).status).toBe(200);
    expect(await held()).toEqual([{system: 'tryton', holdsDeletes: true}]);
    const {text} = await admin.get('/accounts');
    expect(text).toMatch(/shop<[\s\S]*?operator, deletes held<[\s\S]*?tryton</);
    const {rows} = await place.pool.query(
      `SELECT after FROM sync.audit WHERE subject = 'key shop'`,
    );
    expect(rows).toEqual([
      {after: {role: 'operator', system: 'tryton', holdsDeletes: true, masks: false}},
    ]);
  });
});

test.each([
  ['/accounts/add', {name: 'x', token: 'x'}],
  ['/keys/add', {name: 'x', role: 'admin'}],
  ['/keys/person-1/revoke', {}],
])('an operator cannot post to %s', async (path, fields) => {
  const before = tried.length;
  expect((await (await place.person()).post(path, fields)).status).toBe(403);
  expect(tried).toHaveLength(before);
});

test('the Accounts page shows the text that an account check returns', async () => {
  const person = await place.person();
  await person.post('/accounts/acme/check');
  expect((await person.get('/accounts')).text).toContain('good acme: answers');
});

test('a person who pauses or resumes an account sees the new state at once', async () => {
  const person = await place.person();
  await person.get('/accounts');
  await person.post('/accounts/acme/pause', {reason: 'stocktaking <b>'});
  const {text} = await person.get('/accounts');
  expect(text).toContain('paused');
  expect(text).toContain('stocktaking &lt;b&gt;');
  await person.post('/accounts/acme/resume');
  expect((await person.json('/accounts')).accounts).toMatchObject([
    {name: 'acme', state: 'active'},
  ]);
});
