// The console in a real browser: every page in both themes and two widths, with and without
// scripts; every action by its button. Nothing is asked of any other machine, and no page
// complains.

import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Browser, BrowserContext, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {actions, pages} from '../../src/console/server.ts';
import {boards} from '../../src/star/boards.ts';
import {openBrowser} from '../support/browser.ts';
import {addresses, openBrowserPlace} from './browser-place.ts';
import type {ChangesPlace} from './changes-place.ts';
import {listDoings} from './services.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const hostile = '<img src=x onerror="document.title=`taken`">';

/** Further shapes of these pages; documents, for the widest of what is in them; the way in. */
const others = [
  ...boards.filter(({name}) => name !== 'owner').map(({name}) => `/business/${name}`),
  ...['/records/customers/1', '/records/employees/1', '/records/tasks/61'].map(
    (path) => `${path}?account=acme`,
  ),
  '/records',
  '/fields?table=jobs&field=custom_text1&account=acme',
  '/changes?state=done',
  '/settings?account=acme',
  ...['/docs', '/docs?q=key', '/docs/console', '/docs/errors'],
  '/sign-in',
];

let place: ChangesPlace;
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
  place = await openBrowserPlace(hostile);
});
afterAll(async () => {
  await browser?.close();
  await place?.close();
});

/** What stands out at the right, but for what moves in a frame of its own. */
const tooWide = `document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth)
  .filter((each) => each.closest('.scroll') === null)
  .map((each) => each.outerHTML.slice(0, 200))`;

/** Also what is folded is whole: forms, and tables of charts. */
const openAll = `document.querySelectorAll('details').forEach((each) => { each.open = true; })`;

/** What a browser complained of, and the addresses elsewhere that it asked for. */
const complaints: string[] = [];

/** A browser of an administrator, who has signed in. */
async function openContext({scripts = true} = {}): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: {width: 1280, height: 900},
    javaScriptEnabled: scripts,
  });
  const person = await place.person({role: 'admin'});
  const [, value = ''] = /fieldmirror=([^;]+)/.exec(person.cookies()) ?? [];
  await context.addCookies([
    {name: 'fieldmirror', value, url: place.url, httpOnly: true, sameSite: 'Strict'},
  ]);
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  context.on('request', (request) => {
    if (!request.url().startsWith(place.url)) complaints.push(`asked for ${request.url()}`);
  });
  return context;
}

async function openPage(path: string, context?: BrowserContext): Promise<Page> {
  const page = await (context ?? (await openContext())).newPage();
  await page.goto(place.url + path);
  return page;
}

test('every page of the console is listed in this test', () => {
  expect(pages.map(({path}) => path).toSorted()).toEqual(Object.keys(addresses).toSorted());
});

/** What a person sees once an action is done, or refused. */
test.each([
  ['shown once', '/accounts', 'Make a key', {Name: 'once'}, 'Make it', 'Shown this once'],
  ['refused', '/accounts', 'Make a key', {Name: 'once'}, 'Make it', 'This cannot be done'],
] as const)(
  '%s: the result page fits each width and is accessible',
  async (_, path, opens, fill, button, title) => {
    const page = await openPage(path);
    await page.getByText(opens, {exact: true}).click();
    for (const [label, value] of Object.entries(fill))
      await page.getByLabel(label, {exact: true}).locator('visible=true').first().fill(value);
    await page.getByRole('button', {name: button}).click();
    await page.getByRole('heading', {name: title}).waitFor();
    await page.evaluate(axe);
    for (const look of looks)
      expect({look, flaws: await findFlaws(page, look)}).toEqual({look, flaws: []});
    await page.context().close();
  },
);

const looks = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [1280, 390, 360].map((width) => ({colorScheme, width})),
);

describe('in both themes, wide and narrow', () => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = await openContext();
  });
  afterAll(() => context?.close());

  // Theme and width are matters of the style sheet alone: a page that is open takes all four looks.
  test.each([...Object.values(addresses), ...others])(
    '%s fits the window, is accessible and logs no error',
    async (path) => {
      complaints.length = 0;
      const page = await context.newPage();
      const answer = await page.goto(place.url + path);
      expect(answer?.status()).toBe(200);
      expect((await answer?.body())?.length).toBeLessThan(60_000);
      await page.evaluate(axe);
      await page.evaluate(openAll);
      for (const look of looks)
        expect({look, flaws: await findFlaws(page, look)}).toEqual({look, flaws: []});
      expect(await page.title()).not.toBe('taken');
      expect(complaints).toEqual([]);
      await page.close();
    },
  );
});

/** @returns what stands out at the right, and what axe complains of */
async function findFlaws(
  page: Page,
  {colorScheme, width}: (typeof looks)[number],
): Promise<unknown[]> {
  await page.setViewportSize({width, height: 900});
  await page.emulateMedia({colorScheme});
  // Tables move in their own frames: the page itself never does.
  const wide: unknown[] = await page.evaluate(tooWide);
  const closed: unknown[] = await page.evaluate(
    'axe.run().then(({violations}) => violations.map(({id, nodes}) => id + ": " + nodes[0].html))',
  );
  return [...wide, ...closed];
}

describe('without scripts', () => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = await openContext({scripts: false});
  });
  afterAll(() => context?.close());

  test.each([...Object.values(addresses), ...others])(
    '%s opens and is not wider than the window',
    async (path) => {
      const page = await context.newPage();
      expect((await page.goto(place.url + path))?.status()).toBe(200);
      await page.evaluate(openAll);
      for (const {colorScheme, width} of looks) {
        await page.setViewportSize({width, height: 900});
        await page.emulateMedia({colorScheme});
        expect(await page.evaluate(tooWide), `at ${width}`).toEqual([]);
      }
      await page.close();
    },
  );
});

test('without scripts, a filter is part of the URL and a form works', async () => {
  const context = await openContext({scripts: false});
  const page = await context.newPage();
  await page.goto(`${place.url}/sweeps`);
  await page.getByLabel('State').selectOption('certified');
  await page.locator('form.filters').getByRole('button', {name: 'Show'}).click();
  expect(new URL(page.url()).searchParams.get('state')).toBe('certified');
  await page.getByRole('button', {name: 'tasks of acme'}).click();
  expect(await page.locator('[role=status]').textContent()).toContain('is due');
  await context.close();
});

test('keys skip to the content, focus the search and open the documents', async () => {
  const page = await openPage('/health');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('page');
  await page.keyboard.press('/');
  await page.keyboard.type('no?/one');
  expect(await page.getByLabel('Find a record').inputValue()).toBe('no?/one');
  await page.keyboard.press('Enter');
  await page.waitForURL(/records\?q=/);
  await page.keyboard.press('?');
  await page.waitForURL(`${place.url}/docs`);
  await page.context().close();
});

test.each([true, false])('a person can search the documents, scripts: %s', async (scripts) => {
  const page = await openPage('/docs/console', await openContext({scripts}));
  await page.getByLabel('Search the documents').fill('two lists of customers');
  await page.getByRole('button', {name: 'Search', exact: true}).click();
  await page.waitForURL(/docs\?q=two/);
  await page
    .locator('article')
    .getByRole('link', {name: 'Matching two lists of customers', exact: true})
    .click();
  expect(page.url()).toBe(`${place.url}/docs/matching`);
  await page.context().close();
});

test.each([true, false])(
  'on a phone, a button opens the navigation, scripts: %s',
  async (scripts) => {
    const page = await openPage('/health', await openContext({scripts}));
    await page.setViewportSize({width: 390, height: 800});
    const link = page.getByRole('navigation').getByRole('link', {name: 'Fields'});
    expect(await link.isVisible()).toBe(false);
    await page.getByRole('button', {name: 'Menu'}).click();
    await link.click();
    expect(await page.textContent('h1')).toBe('Fields');
    await page.context().close();
  },
);

test.each([
  ['/nowhere', 'Not found'],
  ['/changes/999999', 'Not found'],
  ['/changes?state=odd', 'There is no such filter'],
])('the error page of %s keeps the navigation and links its error code', async (path, title) => {
  const page = await openPage(path);
  expect(await page.textContent('h1')).toBe(title);
  expect(await page.getByRole('navigation').getByRole('link', {name: 'Changes'}).count()).toBe(1);
  await page
    .locator('main')
    .getByRole('link', {name: /^E\d\d$/})
    .click();
  expect(page.url()).toMatch(/\/docs\/errors#e\d\d/);
  await page.context().close();
});

test.each([true, false])(
  'the bar for many changes is visible once a change is ticked, scripts: %s',
  async (scripts) => {
    const page = await openPage('/changes', await openContext({scripts}));
    const bar = page.getByRole('button', {name: 'Preview for those ticked'});
    // Without scripts it is there from the start.
    expect(await bar.isVisible()).toBe(!scripts);
    await page.locator('td input').first().check();
    expect(await bar.isVisible()).toBe(true);
    await page.context().close();
  },
);

test('a person who types an unknown key sees an error page', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${place.url}/sweeps`);
  await page.getByLabel('Key').fill('fm_nothing');
  await page.getByRole('button', {name: 'Sign in'}).click();
  expect(await page.textContent('h1')).toBe('This key opens nothing');
  await context.close();
});

test('an open page updates automatically when another person holds a change', async () => {
  const id = await place.edit(2, `phone_number = '555-0177'`);
  const one = await openPage(`/changes/${id}`);
  const other = await openPage(`/changes/${id}`);
  await other.getByRole('button', {name: 'Hold'}).click();
  await one.locator('main .mark', {hasText: 'held'}).first().waitFor();
  await one.context().close();
  await other.context().close();
});

test('an open Alerts page shows a new alert and removes it when it is resolved', async () => {
  const page = await openPage('/alerts');
  await place.pool.query(
    `INSERT INTO sync.alerts (cause, since, text)
     VALUES ('no-worker', now(), 'no worker is alive')`,
  );
  const found = page.locator('main td', {hasText: 'no worker is alive'});
  await found.waitFor();
  await place.pool.query(`UPDATE sync.alerts SET resolved_at = now() WHERE cause = 'no-worker'`);
  await found.waitFor({state: 'detached'});
  await page.context().close();
});

test('opened sections, selections and typed text are kept when a page redraws', async () => {
  const page = await openPage('/accounts');
  await page.getByLabel('Reason').first().fill('stocktaking');
  await page.getByText('Make a key', {exact: true}).click();
  await page.getByLabel('Role').selectOption('operator');
  for (const _time of ['once', 'and again']) {
    const redrawn = page.waitForResponse(
      (answer) => new URL(answer.url()).pathname === '/accounts',
    );
    await place.pool.query(`UPDATE sync.accounts SET state = state`);
    await redrawn;
  }
  expect(await page.getByLabel('Reason').first().inputValue()).toBe('stocktaking');
  expect(await page.getByLabel('Role').isVisible()).toBe(true);
  expect(await page.getByLabel('Role').inputValue()).toBe('operator');
  await page.context().close();
});

const services = listDoings(() => place);

describe('an action started by its button', () => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = await openContext();
  });
  afterAll(() => context?.close());

  test.each(services)(
    '$action runs and writes one audit entry',
    async ({action, prepare, path, opens, ticks, fill = {}, picks = {}, through, button}) => {
      const made = (await prepare?.()) ?? '';
      const count = async () =>
        (
          await place.pool.query(
            'SELECT count(*)::integer AS n FROM sync.audit WHERE action = $1',
            [action],
          )
        ).rows[0].n;
      const before = await count();
      const page = await openPage(path.replace('$', made), context);
      if (opens !== undefined) await page.getByText(opens, {exact: true}).click();
      if (ticks !== undefined) await page.getByLabel(ticks).check();
      for (const [label, value] of Object.entries(fill))
        await page.getByLabel(label, {exact: true}).locator('visible=true').first().fill(value);
      for (const [label, option] of Object.entries(picks))
        await page.locator('select').and(page.getByLabel(label)).selectOption(option);
      for (const each of [...(through === undefined ? [] : [through]), button])
        await Promise.all([
          page.waitForEvent('load'),
          page.locator('main').getByRole('button', {name: each}).first().click(),
        ]);
      expect(await count()).toBe(before + 1);
      await page.close();
    },
  );

  test('every action of the console is listed in this test', () => {
    expect([...new Set(services.map(({action}) => action))].toSorted()).toEqual(
      [...new Set(actions.map(({name}) => name))].toSorted(),
    );
  });
});
