// The Business pages: answers for one account, now or as of a day, for those who may see names and
// those who may not.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {renderCountedAt} from '../../src/console/answers.ts';
import type {PageContext} from '../../src/console/page.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {toQuestionWord} from '../../src/star/answer.ts';
import {subjects} from '../../src/star/boards.ts';
import {readDataState} from '../../src/star/mart.ts';
import {questions} from '../../src/star/star.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
  await inSweepTransaction(place.pool, async (client) => {
    await client.query(
      `UPDATE warehouse.jobs SET status = 'scheduled', scheduled_on = now() - interval '10 days',
        customer_id = 101, invoice_date = now() - interval '40 days', total = 50,
        balance_remaining = 50 WHERE account_id = $1 AND job_number = 12`,
      [place.account.accountId],
    );
    await client.query(
      `UPDATE warehouse.customers SET phone_number = '555-0177' WHERE account_id = $1 AND id = 101`,
      [place.account.accountId],
    );
  });
  await place.pool.query('SELECT sync.refresh_star()');
});
afterAll(() => place?.close());

test.each(['owner', 'dispatcher', 'bookkeeper', 'customers'])(
  'the page %s shows its answers, and none of another account',
  async (name) => {
    const page = await (await place.person({role: 'viewer'})).get(`/business/${name}`);
    expect(page.status).toBe(200);
    expect(page.text).toContain('What is counted');
    expect(page.text).not.toContain('Account other');
  },
);

test('an unknown page or question links to the nearest one', async () => {
  const person = await place.person();
  expect((await person.get('/business/chef')).text).toContain('href="/business/owner"');
  const {status, text} = await person.get('/business/ask/debtor');
  expect(status).toBe(404);
  expect(text).toContain('href="/business/ask/debtors"');
});

test('a time before the mirror has data is rejected with the reason', async () => {
  const {status, text} = await (await place.person()).get('/business/ask/debtors?as-of=2001-01-01');
  expect(status).toBe(422);
  expect(text).toContain('the mirror knows');
});

test('an answer that needs a setting names it and does not block other answers', async () => {
  const {text} = await (await place.person()).get('/business/owner');
  expect(text).toContain('needs the working hours of a technician');
  expect(text).toContain('href="/settings"');
  expect(text).not.toContain('INSERT INTO');
  expect(text).toContain('Who owes us, since when?');
});

test('an answer can be downloaded as a CSV file with its columns', async () => {
  const {status, headers, text} = await (await place.person()).get('/business/csv/open-jobs');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/csv/);
  expect(headers.get('content-disposition')).toBe('attachment; filename="open-jobs.csv"');
  expect(text.split('\n')[0]).toMatch(/^\uFEFF?place,state,jobs/);
});

test('a person with a masking key sees no name or phone number, in any format', async () => {
  const [seeing, masked] = [await place.person(), await place.person({masks: true})];
  for (const path of [
    '/business/ask/overdue',
    '/business/ask/overdue?as=json',
    '/business/csv/overdue',
    '/business/dispatcher',
    '/business/ask/debtors',
    '/business/csv/debtors',
  ]) {
    expect((await seeing.get(path)).text, path).toContain('Acme');
    expect((await masked.get(path)).text, path).not.toMatch(/Acme|555-0177/);
  }
});

test('a person without a masking key sees the phone numbers of debtors', async () => {
  const {text} = await (await place.person()).get('/business/ask/debtors');
  expect(text).toContain('555-0177');
  expect(text).toContain('days overdue');
});

test('customers and jobs in an answer link to their records, also if masked', async () => {
  const {rows} = await place.pool.query(
    `SELECT customer.row_id AS customer, job.row_id AS job FROM warehouse.customers AS customer
       JOIN warehouse.jobs AS job USING (account_id)
      WHERE account_id = $1 AND customer.id = 101 AND job_number = 12`,
    [place.account.accountId],
  );
  const [{customer, job}] = rows;
  for (const person of [await place.person(), await place.person({masks: true})]) {
    const debtors = await person.get('/business/ask/debtors');
    expect(debtors.text).toContain(`href="/records/customers/row-${customer}">`);
    const overdue = (await person.get('/business/ask/overdue')).text;
    expect(overdue).toContain(`<a href="/records/jobs/row-${job}">12</a>`);
    expect(overdue).toContain(`href="/records/customers/row-${customer}">`);
  }
});

test('the first page compares the last week with the week and the year before', async () => {
  const {text} = await (await place.person()).get('/business');
  expect(text).toContain('>Revenue</a>');
  expect(text).toMatch(/(no figure|± 0 %|[▲▼][^<]*) week on week<br>[^<]+ year on year/);
});

test.each(['/business', '/business/owner', '/business/ask/revenue-by-week'])(
  'how far the jobs were proven complete is visible on %s',
  async (path) => {
    const person = await place.person();
    const {text} = await person.get(path);
    expect(text.split('What is counted')[0]).toContain('The jobs were never proven complete');
  },
);

test('each question is in one group of the first page', () => {
  const grouped = subjects.flatMap(({questions: names}) => names);
  expect(grouped.toSorted()).toEqual(questions.map(({name}) => name).toSorted());
});

test('a question can be answered for another period and another grouping', async () => {
  const person = await place.person();
  const {status, text} = await person.get('/business/ask/work-mix?from=2020-01-01&by=town');
  expect(status).toBe(200);
  expect(text).toContain('Which towns bring the money?');
  expect(text).toContain('in place of the usual dates');
  expect(text).toContain('amounts without a currency');
  expect(text).toMatch(/<option selected>town<\/option>/);
  expect(text).toContain('ask work-mix --from 2020-01-01 --by town');
  const link = /href="(\/business\/csv\/[^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  expect((await person.get(String(link))).text).toMatch(/^\uFEFF?town,jobs,revenue/);
  for (const [path, words] of [
    ['/business/ask/debtors?from=2026-10-01', 'debtors has no period'],
    ['/business/ask/items?to=2026-02-30', 'expected a day'],
    ['/business/ask/load-ahead?to=2026-02-30', 'expected a day'],
    ['/business/csv/items?by=colour', 'expected no --by'],
  ] as const) {
    const refused = await person.get(path);
    expect(refused.status, path).toBe(422);
    expect(refused.text).toContain(words);
  }
});

test('a column heading sorts the whole answer in either direction, also as CSV', async () => {
  const {accountId} = place.account;
  await inSweepTransaction(place.pool, async (client) => {
    await client.query(
      `UPDATE warehouse.jobs SET status = 'scheduled', scheduled_on = now() - interval '9 days',
         customer_id = 103, invoice_date = now() - interval '50 days', total = 700,
         balance_remaining = 700 WHERE account_id = $1 AND job_number = 11`,
      [accountId],
    );
  });
  await place.pool.query('SELECT sync.refresh_star()');
  const person = await place.person();
  const orderOf = async (path: string) =>
    [...(await person.get(path)).text.matchAll(/Acme|Cove/g)].map(([name]) => name);
  const path = '/business/ask/debtors';
  expect((await orderOf(`${path}?sort=owed`))[0]).toBe('Acme');
  expect((await orderOf(`${path}?sort=-owed`))[0]).toBe('Cove');
  expect(await orderOf('/business/csv/debtors?sort=-name')).toEqual(['Cove', 'Acme']);
  const {text} = await person.get(`${path}?sort=-owed`);
  expect(text).toContain(
    'aria-sort="descending"><a class="sort" href="/business/ask/debtors?sort=owed">',
  );
  expect(text).toContain('<a class="sort" href="/business/ask/debtors?sort=name">');
  expect(text).toContain('href="/business/csv/debtors?sort=-owed"');
  for (const column of ['customer_key', 'owed; DROP TABLE x', 'nothing']) {
    const refused = await person.get(`${path}?sort=${encodeURIComponent(column)}`);
    expect(refused.status, column).toBe(422);
    expect(refused.text).toContain('expected a column to sort by');
  }
});

test('for a person with a masking key, sorting by name sorts by key', async () => {
  const masked = await place.person({masks: true});
  const {text} = await masked.get('/business/csv/debtors?sort=name');
  const names = [...text.matchAll(/customer \d+/g)].map(([name]) => name);
  expect(names.length).toBeGreaterThan(1);
  expect(names).toEqual(names.toSorted());
});

test('appointments by hour and weekday are shown as a grid', async () => {
  const {text} = await (await place.person()).get('/business/ask/rush-hours');
  expect(text).toMatch(/<table class="grid">[\s\S]*<td class="number shade-5">/);
});

test('an answer is computed once for all filters that do not affect it', async () => {
  const person = await place.person();
  const path = '/business/ask/largest-customers?as=json';
  const countedAt = async (more: string) =>
    (await person.json(path + more)).told.answered.countedAt as string;
  const first = await countedAt('');
  for (const more of ['&page=2', '&n=17']) expect(await countedAt(more), more).toBe(first);
  for (const more of ['&from=2026-01-01', '&to=2026-01-31', '&sort=name', '&by=place'])
    expect(await countedAt(more).catch(() => 'refused'), more).not.toBe(first);
  const another = await place.person({isOfAll: true});
  const accountOf = async (more: string) =>
    (await another.json(path + more)).told.answered.asked.accountKey;
  expect(await accountOf('')).toBe(place.account.accountId);
  expect(await accountOf('&account=other')).toBe(place.stranger.accountId);
});

test('an answer that is minutes old shows when it was counted', async () => {
  const {told} = await (await place.person()).json('/business/ask/debtors?as=json');
  const countedAt = '2026-11-20T08:00:00.000Z';
  const shown = (now: string) =>
    String(renderCountedAt({...told.answered, countedAt}, {now, timeZone: 'UTC'} as PageContext));
  expect(shown('2026-11-20T08:00:59.000Z')).toBe('');
  expect(shown('2026-11-20T08:05:00.000Z')).toMatch(/Counted at .*2026-11-20.*08:00.*5 min ago/s);
});

test('the data state changes with each write to the data, and with no other write', async () => {
  const {accountId} = place.account;
  const write = async (text: string, values: readonly unknown[]) => {
    await inSweepTransaction(place.pool, async (client) => {
      await client.query(text, [...values]);
      // What a session wrote is counted a second after its end, or at once.
      await client.query('SELECT pg_stat_force_next_flush()');
    });
  };
  const states = [await readDataState(place.pool)];
  const job = 'WHERE account_id = $1 AND job_number = 12';
  for (const text of [
    `UPDATE warehouse.jobs SET total = total + 1 ${job}`,
    'INSERT INTO mart.labels (account_key, kind, id, label) VALUES ($1, $2, 7, $3)',
    'DELETE FROM mart.labels WHERE account_key = $1',
  ]) {
    await write(text, text.includes('$2') ? [accountId, 'customer_type', 'Farms'] : [accountId]);
    states.push(await readDataState(place.pool));
  }
  expect(new Set(states).size).toBe(states.length);
  await write('UPDATE sync.accounts SET api_url = api_url WHERE account_id = $1', [accountId]);
  expect(await readDataState(place.pool)).toBe(states.at(-1));
});

describe('with a currency', () => {
  beforeAll(async () => {
    await place.pool.query(`INSERT INTO mart.settings (account_key, currency) VALUES ($1, 'CHF')`, [
      place.account.accountId,
    ]);
  });

  test.each(
    questions
      .filter(({needs, period}) => needs === undefined && period !== undefined)
      .map((question) => [toQuestionWord(question), question] as const),
  )('the page of %s shows its period and the currency of its amounts', async (word, question) => {
    const days = '?from=2026-10-01&to=2026-10-31';
    const {status, text} = await (await place.person()).get(`/business/ask/${word}${days}`);
    expect(status).toBe(200);
    expect(text).toContain('2026-10-01 to 2026-10-31, in place of the usual dates');
    expect(text.includes('amounts in CHF')).toBe(question.money.length > 0);
  });

  test('an answer ends with its total and that of the period before, in the currency', async () => {
    const {accountId} = place.account;
    await inSweepTransaction(place.pool, async (client) => {
      await client.query(
        `INSERT INTO warehouse.jobs (account_id, job_number, id, customer_id, status, created_at,
         completed_on, subtotal)
       SELECT $1, number, number, customer, 'complete', day, day, subtotal
         FROM (VALUES (9001, 101, '2026-09-10 15:00Z'::timestamptz, 1234),
                      (9002, 101, '2026-10-05 15:00Z', 2000),
                      (9003, 103, '2026-10-20 15:00Z', 345)) AS done (number, customer, day,
                subtotal)`,
        [accountId],
      );
    });
    await place.pool.query('SELECT sync.refresh_star()');
    // Other days than above: an answer is held for a moment.
    const path = '/business/ask/largest-customers?from=2026-10-02&to=2026-10-31';
    const {text} = await (await place.person()).get(path);
    const words = text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(words).toMatch(/ total .*2,345\.00 .* before .*1,234\.00 /);
    expect(text).toContain('before: 2026-09-02 to 2026-10-01');
    expect(text).toContain('amounts in CHF');
  });
});
