// Charts in a real browser: on a phone and on a wide screen each letter of a chart is large enough
// to be read, with scripts and without.

import type {Browser, BrowserContext} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {boards} from '../../src/star/boards.ts';
import {openBrowser} from '../support/browser.ts';
import {openPlace, type Place, writeHours} from './place.ts';

let place: Place;
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
  place = await openPlace();
  const {accountId} = place.account;
  await inSweepTransaction(place.pool, async (client) => {
    await client.query(
      `INSERT INTO warehouse.customers (account_id, customer_number, id, name, _sweep_id)
       SELECT $1, 1000 + at, 11000 + at, 'The long name of customer ' || at, 1
         FROM generate_series(1, 20) AS at`,
      [accountId],
    );
    await client.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, id, customer_number, customer_id, status,
         created_at, scheduled_on, completed_on, subtotal, total, balance_remaining, invoice_date,
         invoice_paid_on, duration, _sweep_id)
       SELECT $1, 1000 + at, 12000 + at, 1001 + at % 20, 11001 + at % 20,
              CASE WHEN at <= 0 THEN 'scheduled' ELSE 'complete' END, day - interval '9 days', day,
              CASE WHEN at > 0 THEN day END, 1234.5 * (1 + at % 30), 1300, at % 7 * 100,
              CASE WHEN at > 5 THEN day + interval '2 days' END,
              CASE WHEN at > 9 THEN day + interval '5 days' END, 90, 1
         FROM generate_series(-6, 800) AS at, LATERAL (SELECT now() - at * interval '1 day' AS day)
           AS days`,
      [accountId],
    );
    await writeHours(client, accountId);
  });
  await place.pool.query('SELECT sync.refresh_star()');
  await place.pool.query(
    `INSERT INTO mart.settings (account_key, currency, working_hours)
     VALUES ($1, 'USD', '{8,8,8,8,8,0,0}')`,
    [accountId],
  );
});
afterAll(async () => {
  await browser?.close();
  await place?.close();
});

/** Each text of a chart that is shown: how many pixels its letters are high, and what it says. */
const measure = `[...document.querySelectorAll('figure svg text')]
  .filter((text) => text.getClientRects().length > 0)
  .map((text) => ({
    pixels: parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().d,
    isInside: ((box, at) => at.left >= box.left - 1 && at.right <= box.right + 1)(
      text.ownerSVGElement.getBoundingClientRect(), text.getBoundingClientRect()),
    words: text.textContent,
  }))`;

const questions = ['ask/largest-customers', 'ask/days-to-money'];
const pages = [...boards.map(({name}) => name), ...questions];

describe.each([true, false])('text in charts, scripts: %s', (scripts) => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = await browser.newContext({javaScriptEnabled: scripts});
    const person = await place.person();
    const [, value = ''] = /fieldmirror=([^;]+)/.exec(person.cookies()) ?? [];
    await context.addCookies([{name: 'fieldmirror', value, url: place.url}]);
  });
  afterAll(() => context?.close());

  test.each(pages)('on %s is at least 11 pixels high and not cut off', async (path) => {
    const page = await context.newPage();
    const answer = await page.goto(`${place.url}/business/${path}`);
    expect((await answer?.body())?.length).toBeLessThan(60_000);
    for (const width of [360, 390, 834, 1280]) {
      await page.setViewportSize({width, height: 900});
      const texts = (await page.evaluate(measure)) as Letters[];
      expect(texts.length).toBeGreaterThan(5);
      const flaws = texts.filter(({pixels, isInside}) => pixels < 11 || !isInside);
      expect({width, flaws}).toEqual({width, flaws: []});
    }
    await page.close();
  });
});

/** Rows of a board, each by its top, whose sections leave a part of the width empty. */
const findGaps = `(() => {
  const board = document.querySelector('.answers').getBoundingClientRect();
  const sections = [...document.querySelectorAll('.answers > section')];
  const boxes = sections.map((each) => each.getBoundingClientRect());
  const rows = Map.groupBy(boxes, ({top}) => Math.round(top));
  return [...rows]
    .filter(([, held]) => board.right - Math.max(...held.map(({right}) => right)) > 2)
    .map(([top]) => top);
})()`;

test.each(boards.map(({name}) => name))(
  'the sections of the page %s fill the whole width of each row',
  async (name) => {
    const context = await browser.newContext({viewport: {width: 1280, height: 900}});
    const person = await place.person();
    const [, value = ''] = /fieldmirror=([^;]+)/.exec(person.cookies()) ?? [];
    await context.addCookies([{name: 'fieldmirror', value, url: place.url}]);
    const page = await context.newPage();
    await page.goto(`${place.url}/business/${name}`);
    expect(await page.evaluate(findGaps)).toEqual([]);
    await context.close();
  },
);

interface Letters {
  readonly pixels: number;
  readonly isInside: boolean;
  readonly words: string;
}
