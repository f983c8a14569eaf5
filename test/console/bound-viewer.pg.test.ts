// Somebody who is bound to one account sees nothing of another on any page, in any file or stream
// of events. Pages and other addresses come from the server's own tables.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {pages} from '../../src/console/server.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {toQuestionWord} from '../../src/star/answer.ts';
import {questions} from '../../src/star/star.ts';
import {plainConsole} from '../support/plain-console.ts';
import {openPlace, type Person, type Place} from './place.ts';

const name = 'zanzibar';

let place: Place;
let bound: Person;
let free: Person;
beforeAll(async () => {
  const {services} = plainConsole();
  place = await openPlace({
    services: {
      ...services,
      examine: async () => [
        {
          what: `account ${name}`,
          account: name,
          state: 'good',
          found: `${name} answers, and takes the token`,
        },
        {
          what: 'account acme',
          account: 'acme',
          state: 'good',
          found: 'acme answers, and takes the token',
        },
        {what: 'worker', state: 'warning', found: `worker 7 does not serve ${name}`},
      ],
      listSettings: async () => [
        {name: `accounts / ${name}`, value: name, source: 'file', file: null},
      ],
    },
  });
  const {pool, stranger} = place;
  await pool.query('UPDATE sync.accounts SET name = $2, state_reason = $2 WHERE account_id = $1', [
    stranger.accountId,
    name,
  ]);
  await pool.query(
    `SET fieldmirror.writer = 'repair'; UPDATE warehouse.customers
       SET name = 'zanzibar customer' WHERE account_id = ${stranger.accountId}`,
  );
  await pool.query(
    `SET fieldmirror.writer = 'repair'; UPDATE warehouse.jobs
       SET name = 'zanzibar job' WHERE account_id = ${stranger.accountId}`,
  );
  await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      reasons)
     VALUES ($1, 'customers', 'full', 'schedule', 'stopped', now(), now(),
       '{"zanzibar lost too many"}')`,
    [stranger.accountId],
  );
  await inSweepTransaction(pool, async (client) => {
    await client.query(
      `UPDATE warehouse.jobs SET status = 'scheduled', scheduled_on = now() - interval '10 days',
        customer_id = 101 WHERE job_number = 12`,
    );
  });
  await pool.query('SELECT sync.refresh_star()');
  bound = await place.person({role: 'operator'});
  free = await place.person({role: 'operator', isOfAll: true});
});
afterAll(() => place?.close());

const addresses = pages.flatMap(({path}) =>
  ['1', '2', 'zanzibar'].map((part) => path.replaceAll(/:\w+/g, part)),
);

test.each([...new Set(addresses)])(
  '%s shows nothing of another account to a person bound to one account',
  async (path) => {
    for (const address of [path, `${path}?q=zanzibar&account=zanzibar`, `${path}?of=1`]) {
      const asked = new URL(address, place.url).searchParams.has('q') || path.includes(name);
      for (const how of ['', 'as=json']) {
        const {text} = await bound.get(
          `${address}${how === '' ? '' : `${address.includes('?') ? '&' : '?'}${how}`}`,
        );
        // What was asked for comes back in the words of a refusal.
        const told = asked
          ? text.replaceAll(/zanzibar(?! customer| job| lost| answers)/g, '')
          : text;
        expect(told).not.toContain(name);
      }
    }
  },
);

test('control: a person of all accounts sees the name of the other account', async () => {
  for (const path of ['/', '/health']) expect((await free.get(path)).text).toContain(name);
});

/** Addresses that are no pages, with every question in the place of one. */
function listOthers(): string[] {
  const isPage = new Set(pages.map(({path}) => path));
  return place.routes
    .filter(({method, path}) => method === 'GET' && !path.startsWith('/v1') && !isPage.has(path))
    .map(({path}) => path)
    .filter((path) => !/\*|^\/(?:sign-in|live|metrics)/.test(path))
    .flatMap((path) =>
      path.includes(':question')
        ? questions.map((one) => path.replace(':question', toQuestionWord(one)))
        : path,
    );
}

test('no file or other GET route shows anything of another account', async () => {
  const others = listOthers();
  expect(others).toContain('/business/csv/overdue');
  let seen = '';
  for (const path of others)
    for (const asked of [
      '',
      '?account=zanzibar',
      `?account=${place.stranger.accountId}`,
      '?account=acme&account=zanzibar',
    ]) {
      const {text} = await bound.get(path + asked);
      expect(
        text.replaceAll(/zanzibar(?! customer| job| lost| answers)/g, ''),
        path + asked,
      ).not.toContain(name);
      if (asked === '') expect(text, path).not.toContain(name);
      seen += (await free.get(path + asked)).text;
    }
  // Somebody of all accounts reads it in the very same files.
  expect(seen).toContain('zanzibar customer');
});

test('the event stream reports that a table changed, and nothing about its rows', async () => {
  const control = new AbortController();
  const answer = await fetch(
    `${place.url}/live?of=customers,sweeps,changes,zanzibar&account=zanzibar`,
    {
      headers: {cookie: bound.cookies()},
      signal: control.signal,
    },
  );
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let told = '';
  while (!told.includes('event: moved')) {
    await place.pool.query(
      `UPDATE sync.sweeps SET reasons = reasons || '{"zanzibar once more"}' WHERE account_id = $1`,
      [place.stranger.accountId],
    );
    await place.pool.query(`SELECT pg_notify('fieldmirror_pages', 'sweeps')`);
    told += (await reader?.read())?.value ?? '';
  }
  control.abort();
  for (const line of told.split('\n'))
    expect(line).toMatch(/^(?:: (?:open|still here)|event: moved|data: *|)$/);
});
