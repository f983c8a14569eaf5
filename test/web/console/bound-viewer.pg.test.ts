// Somebody who is bound to one account sees nothing of another on any page. The pages come from the table of pages.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {pages} from '../../../src/web/console/pages/pages.ts';
import {plainConsole} from '../../support/plain-console.ts';
import {openPlace, type Person, type Place} from './place.ts';

const name = 'zanzibar';

let place: Place;
let bound: Person;
let free: Person;
beforeAll(async () => {
  const {doings} = plainConsole();
  place = await openPlace({
    doings: {
      ...doings,
      examine: async () => [
        {
          what: `account ${name}`,
          account: name,
          state: 'good',
          found: `${name} answers, and takes the token`,
        },
        {what: 'account acme', account: 'acme', state: 'good', found: 'acme answers, and takes the token'},
        {what: 'worker', state: 'warning', found: `worker 7 does not serve ${name}`},
      ],
      listSettings: async () => [{name: `accounts / ${name}`, value: name, source: 'file', file: null}],
    },
  });
  const {pool, stranger} = place;
  await pool.query('UPDATE sync.accounts SET name = $2, state_reason = $2 WHERE account_id = $1', [
    stranger.accountId,
    name,
  ]);
  await pool.query(
    `SET fieldmirror.writer = 'repair'; UPDATE warehouse.customers SET name = 'zanzibar customer' WHERE account_id = ${stranger.accountId}`,
  );
  await pool.query(
    `SET fieldmirror.writer = 'repair'; UPDATE warehouse.jobs SET name = 'zanzibar job' WHERE account_id = ${stranger.accountId}`,
  );
  await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at, reasons)
     VALUES ($1, 'customers', 'full', 'schedule', 'stopped', now(), now(), '{"zanzibar lost too many"}')`,
    [stranger.accountId],
  );
  bound = await place.person({role: 'operator'});
  free = await place.person({role: 'operator', isOfAll: true});
});
afterAll(() => place?.close());

const addresses = pages.flatMap(({path}) =>
  ['1', '2', 'zanzibar'].map((part) => path.replaceAll(/:\w+/g, part)),
);

test.each([...new Set(addresses)])('%s', async (path) => {
  for (const address of [path, `${path}?q=zanzibar&account=zanzibar`, `${path}?of=1`]) {
    const asked = new URL(address, place.url).searchParams.has('q') || path.includes(name);
    for (const how of ['', 'as=json']) {
      const {text} = await bound.get(
        `${address}${how === '' ? '' : `${address.includes('?') ? '&' : '?'}${how}`}`,
      );
      // What was asked for comes back in the words of a refusal.
      const told = asked ? text.replaceAll(/zanzibar(?! customer| job| lost| answers)/g, '') : text;
      expect(told).not.toContain(name);
    }
  }
});

test('the test would see it: somebody of all accounts reads the name on the overview and on the page of health', async () => {
  for (const path of ['/', '/health']) expect((await free.get(path)).text).toContain(name);
});
