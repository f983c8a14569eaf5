// The Business pages: answers for one account, now or as of a day, for those who may see names and
// those who may not.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
  await inSweepTransaction(place.pool, async (client) => {
    await client.query(
      `UPDATE warehouse.jobs SET status = 'scheduled', scheduled_on = now() - interval '10 days',
        customer_id = 101 WHERE account_id = $1 AND job_number = 12`,
      [place.account.accountId],
    );
  });
  await place.pool.query('SELECT sync.refresh_star()');
});
afterAll(() => place?.close());

test.each(['owner', 'dispatcher', 'bookkeeper', 'customers'])(
  'the page %s answers its questions',
  async (name) => {
    const page = await (await place.person({role: 'viewer'})).get(`/business/${name}`);
    expect(page.status).toBe(200);
    expect(page.text).toContain('What is counted');
    expect(page.text).not.toContain('Account other');
  },
);

test('a page or a question that there is not names the nearest', async () => {
  const person = await place.person();
  expect((await person.get('/business/chef')).text).toContain('href="/business/owner"');
  const {status, text} = await person.get('/business/ask/debtor');
  expect(status).toBe(404);
  expect(text).toContain('href="/business/ask/debtors"');
});

test('a moment before the mirror knew anything is refused with the reason', async () => {
  const {status, text} = await (await place.person()).get('/business/ask/debtors?as-of=2001-01-01');
  expect(status).toBe(422);
  expect(text).toContain('the mirror knows');
});

test('an answer that needs a setting says which, and holds up no other', async () => {
  const {text} = await (await place.person()).get('/business/owner');
  expect(text).toContain('needs the working hours of a technician');
  expect(text).toContain('Who owes us, since when?');
});

test('an answer leaves as CSV, with its columns and as a file', async () => {
  const {status, headers, text} = await (await place.person()).get('/business/csv/open-jobs');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/csv/);
  expect(headers.get('content-disposition')).toBe('attachment; filename="open-jobs.csv"');
  expect(text.split('\n')[0]).toMatch(/^\uFEFF?place,state,jobs/);
});

test('somebody who is not to see names gets keys in their place, in the page, as JSON and as CSV', async () => {
  const [seeing, masked] = [await place.person(), await place.person({masks: true})];
  for (const path of [
    '/business/ask/overdue',
    '/business/ask/overdue?as=json',
    '/business/csv/overdue',
    '/business/dispatcher',
  ]) {
    expect((await seeing.get(path)).text, path).toContain('Acme');
    expect((await masked.get(path)).text, path).not.toContain('Acme');
  }
});
