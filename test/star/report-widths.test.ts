// The weekly report in a real browser, as a page and as a mail: no wider than a phone, readable in
// both themes, with amounts and names that are as long as they come.

import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Browser} from 'playwright-core';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Report} from '../../src/star/report.ts';
import {renderReportMail} from '../../src/star/report-mail.ts';
import {renderPage} from '../../src/star/report-page.ts';
import {openBrowser} from '../support/browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => await browser?.close());

const weeks = Array.from({length: 60}, (_, at) => ({
  week: new Date(Date.UTC(2026, 0, 5 + 7 * at)).toISOString().slice(0, 10),
  value: String(1_234_567.89 + 1_000 * at),
}));
const amounts = {now: '1234567.89', before: '987654.32', yearAgo: '1111111.11'};
const longName = 'Schmetterlingsgartenbaugesellschaft und Partner';
const report: Report = {
  account: 'acme',
  currency: 'USD',
  from: '2026-11-16',
  to: '2026-11-22',
  freshAsOf: '2026-11-23T06:00:00.000Z',
  ageMs: 3_600_000,
  knownSince: null,
  figures: [
    {metric: 'revenue', label: 'Revenue', unit: 'money', weeks, ...amounts},
    {
      metric: 'owed_over_60_days',
      label: 'Owed for more than 60 days',
      unit: 'money',
      weeks,
      ...amounts,
      yearAgo: null,
    },
    {metric: 'open_jobs', label: 'Open jobs', unit: 'jobs', weeks, ...amounts, before: null},
  ],
  moves: [`Revenue is above what is usual. ${longName.repeat(3).replaceAll(' ', '')}`],
  pictures: [
    {
      form: 'columns',
      title: 'Revenue by week',
      sentence: 'Completed work, without tax.',
      names: weeks.slice(0, 26).map(({week}) => week),
      series: [
        {
          kind: 'bar',
          name: 'revenue',
          values: weeks.slice(0, 26).map(({value}) => Number(value)),
        },
      ],
    },
  ],
  lists: [
    {
      title: 'The ten largest debtors',
      columns: ['customer', 'owed (USD)', 'of it for more than 90 days (USD)'],
      amounts: [1, 2],
      word: 'debtors',
      stream: 'customers',
      keys: ['17'],
      rows: [[longName, '1234567.89', '1234567.89']],
    },
    {
      title: 'What should have been done: the ten oldest',
      columns: ['job', 'customer', 'what', 'days late'],
      amounts: [],
      word: 'overdue',
      stream: null,
      keys: [],
      rows: [['4711', longName, longName.replaceAll(' ', ''), '1234']],
    },
  ],
  restated: [],
  unseen: ['What work cost.'],
  findings: [],
};

test.each([
  ['the page', renderPage(report, 'the data is old')],
  ['the mail', renderReportMail(report, new URL('https://mirror.example.com')).html],
])('%s fits the width of the window and has readable text', async (_, html) => {
  const page = await browser.newPage();
  await page.setContent(html);
  for (const summary of await page.locator('summary').all()) await summary.click();
  await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 390, 360]) {
      await page.setViewportSize({width, height: 900});
      await page.emulateMedia({colorScheme});
      expect(await page.evaluate(findFlaws), `${width} ${colorScheme}`).toEqual([]);
    }
  await page.close();
});

/** What is wider than the window, small letters, and what axe complains of. */
const findFlaws = `axe.run().then(({violations}) => [
  ...violations.map(({id, nodes}) => id + ': ' + nodes[0].html),
  ...(document.documentElement.scrollWidth > innerWidth
    ? ['as wide as ' + document.documentElement.scrollWidth] : []),
  ...[...document.querySelectorAll('div')]
    .filter((each) => each.scrollWidth > each.clientWidth)
    .map((each) => 'moves sideways: ' + each.outerHTML.slice(0, 80)),
  ...[...document.querySelectorAll('svg text')]
    .filter((each) => each.getClientRects().length > 0)
    .filter((each) =>
      parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().d < 11)
    .map((each) => 'small: ' + each.textContent),
])`;
