// Every page of the console in a place with much in it: none is heavier than 60 kB, and each
// customer, job, change and sweep that is named on it is a link.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {pages} from '../../src/console/server.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {toQuestionWord} from '../../src/star/answer.ts';
import {boards} from '../../src/star/boards.ts';
import {questions} from '../../src/star/star.ts';
import {addresses, openBrowserPlace} from './browser-place.ts';
import type {ChangesPlace} from './changes-place.ts';
import {type Person, writeHours} from './place.ts';

const mostBytes = 60_000;

const all = [
  ...Object.values(addresses),
  ...boards.map(({name}) => `/business/${name}`),
  ...questions.map((question) => `/business/ask/${toQuestionWord(question)}`),
  ...['/changes?state=done', '/changes/undo?c2=on', '/sweeps?quiet=each', '/settings?account=acme'],
  ...['/records', '/records?q=Quillmark', '/records/customers/1001?account=acme'],
  ...['/records/jobs/1001?account=acme', '/records/employees/1?account=acme'],
  ...['/fields?table=jobs', '/docs', '/docs?q=key', '/docs/console'],
];

let place: ChangesPlace;
let person: Person;
beforeAll(async () => {
  place = await openBrowserPlace('odd & strange');
  await fillPlenty(place);
  person = await place.person({role: 'admin'});
});
afterAll(() => place?.close());

test('every page of the console is listed in this test', () => {
  expect(Object.keys(addresses).toSorted()).toEqual(pages.map(({path}) => path).toSorted());
});

test.each(all)('%s is at most 60 kB, and every record that it names is a link', async (path) => {
  const {status, text} = await person.get(path);
  expect(status).toBe(200);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(mostBytes);
  if (!path.startsWith('/docs')) expect(findUnlinked(text, path)).toEqual([]);
});

test.each(all)('%s has instants as HTML allows them, with milliseconds at most', async (path) => {
  const {text} = await person.get(path);
  const given = [...text.matchAll(/<time datetime="([^"]*)"/g)].map(([, instant = '']) => instant);
  const allowed = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;
  expect(given.filter((instant) => !allowed.test(instant))).toEqual([]);
});

/**
 * What stands on a page as mere text: names of customers and jobs, and numbers of records, changes
 * and sweeps, in drawings, too. Left out: the title, what a form sends, commands, and what the page
 * is of.
 */
function findUnlinked(page: string, path: string): string[] {
  const [, kind = '', number = ''] = /^\/(?:records\/)?(\w+)s\/(\d+)/.exec(path) ?? [];
  const main = /<main[\s\S]*<\/main>/.exec(page)?.[0] ?? '';
  const text = main
    .replaceAll(/<(a|h1|pre|code|button|select|textarea|legend|caption)\b[\s\S]*?<\/\1>/g, ' ')
    .replaceAll(/<p class="said"[\s\S]*?<\/p>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
  const named =
    /Quillmark \d+|Cistern \d+|\b(?:customers?|jobs?|change|sweep) [1-9]\d*\b(?!-\d| records)/gi;
  return [...text.matchAll(named)]
    .filter(([name]) => name.toLowerCase() !== `${kind} ${number}`)
    .filter(([name]) => !isOfPage(name, path))
    .map(({0: name, index}) => `${name}: …${text.slice(Math.max(0, index - 40), index + 60)}…`);
}

/** Whether a record's own page says its own name. */
function isOfPage(name: string, path: string): boolean {
  return path.startsWith('/records/customers/1001')
    ? name === 'Quillmark 1001'
    : path.startsWith('/records/jobs/1001') && name === 'Cistern 1001';
}

/** Customers, jobs, sweeps and changes by the hundred, so that each list is as long as it gets. */
async function fillPlenty({pool, account: {accountId}}: ChangesPlace): Promise<void> {
  await inSweepTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO warehouse.customers (account_id, customer_number, id, name, phone_number,
         email_address, service_city, _sweep_id)
       SELECT $1, at, 10000 + at, 'Quillmark ' || at, '(503) 555-0' || 100 + at % 100,
              'quillmark' || at || '@example.com', 'Town ' || at % 40, 1
         FROM generate_series(1001, 1600) AS at`,
      [accountId],
    );
    await client.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, id, customer_number, customer_id, name,
         status, created_at, scheduled_on, completed_on, subtotal, total, balance_remaining,
         invoice_date, invoice_paid_on, duration, estimate_sent_on, _sweep_id)
       SELECT $1, 1000 + at, 20000 + at, customer, 10000 + customer, 'Cistern ' || 1000 + at,
              CASE at % 4 WHEN 0 THEN 'scheduled' WHEN 1 THEN 'estimate' ELSE 'complete' END,
              day - interval '9 days', day, CASE WHEN at % 4 > 1 THEN day END,
              1234.5 * (1 + at % 30), 1300.25, at % 7 * 100.5, CASE WHEN at % 4 > 1 THEN day END,
              CASE WHEN at % 8 = 2 THEN day + interval '5 days' END, 90, day, 1
         FROM generate_series(1, 3000) AS at,
              LATERAL (SELECT now() - at * interval '8 hours' AS day,
                CASE WHEN at <= 300 THEN 1001 ELSE 1001 + at % 600 END AS customer) AS made`,
      [accountId],
    );
    await writeHours(client, accountId);
  });
  await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, window_name, requested_by, state,
       started_at, ended_at, records, pages, requests, inserted)
     SELECT $1, (ARRAY['jobs', 'customers', 'employees', 'tasks'])[1 + at % 4],
            'full', NULL, 'schedule', 'certified', began,
            began + interval '20 seconds', 3000, 100, 226, at
       FROM generate_series(120, 1, -1) AS at,
            LATERAL (SELECT now() - at * interval '6 hours' AS began) AS made`,
    [accountId],
  );
  await pool.query(
    `UPDATE warehouse.customers SET phone_number = '(503) 555-0199',
       email_address = 'front.desk@example.com'
      WHERE account_id = $1 AND customer_number BETWEEN 1001 AND 1200`,
    [accountId],
  );
  await pool.query(
    `UPDATE sync.changes SET state = 'done', settled_at = now()
      WHERE change_id % 3 = 0 AND state = 'pending'`,
  );
  await pool.query(
    `INSERT INTO sync.quarantine (account_id, stream, number, sweep_id, page, reason, xml, xml_hash)
     SELECT $1, 'jobs', at, 1, 2, 'jobs ' || at || ': field subtotal: expected a number, got "ten"',
            repeat('<job><name>Cistern</name></job>', 2000), ''
       FROM generate_series(1001, 1300) AS at`,
    [accountId],
  );
  await pool.query('SELECT sync.refresh_star()');
  await pool.query(
    `INSERT INTO mart.settings (account_key, currency, working_hours)
     VALUES ($1, 'USD', '{8,8,8,8,8,0,0}')`,
    [accountId],
  );
}
