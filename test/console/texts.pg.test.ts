// Postgres holds every text but one with a NUL in it.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {pages} from '../../src/console/server.ts';
import {openPlace, type Person, type Place} from './place.ts';

let place: Place;
let person: Person;
beforeAll(async () => {
  place = await openPlace();
  person = await place.person({role: 'admin'});
});
afterAll(() => place?.close());

test.each(pages.map(({path}) => path))(
  'a NUL in the URL of %s is rejected with the reason',
  async (path) => {
    const {status, text} = await person.get(`${path.replaceAll(/:\w+/g, '1')}?q=%00`);
    expect(status).toBe(422);
    expect(text).toContain('This is no text');
  },
);

test('a NUL in a form field is rejected with the reason, and nothing is done', async () => {
  const {status, text} = await person.post('/accounts/acme/pause', {why: 'no\0where'});
  expect(status).toBe(422);
  expect(text).toContain('This is no text');
  const {rows} = await place.pool.query(`SELECT state FROM sync.accounts WHERE name = 'acme'`);
  expect(rows).toEqual([{state: 'active'}]);
});
