// The console in a real browser: every page in both themes and two widths, with and without scripts; every action by its
// button. Nothing is asked of any other machine, and no page complains.

import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Browser, BrowserContext, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {upsertAccount} from '../../../src/warehouse/accounts/accounts.ts';
import {actions} from '../../../src/web/console/actions/actions.ts';
import {pages} from '../../../src/web/console/pages/pages.ts';
import {openBrowser} from '../../support/browser.ts';
import {plainConsole} from '../../support/plain-console.ts';
import {type ChangesPlace, openPlace} from './changes-place.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const hostile = '<img src=x onerror="document.title=`taken`">';

/** An address for every page of the console. */
const addresses: Readonly<Record<string, string>> = {
  '/': '/',
  '/business': '/business',
  '/business/:board': '/business/owner',
  '/business/ask/:question': '/business/ask/revenue-by-week',
  '/sweeps': '/sweeps',
  '/sweeps/:sweepId': '/sweeps/1',
  '/changes': '/changes',
  '/changes/preview': '/changes/preview?choice=hold&state=pending&all=yes',
  '/changes/:changeId': '/changes/1',
  '/records': '/records?q=Acme',
  '/records/:stream/:number': '/records/jobs/11?account=acme',
  '/fields': '/fields',
  '/accounts': '/accounts',
  '/health': '/health',
};

let place: ChangesPlace;
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
  place = await openPlace({
    doings: {
      ...plainConsole('').doings,
      checkAccount: async (name) => `good ${name}: answers`,
      tryAccount: async ({name, url, timeZone}) => ({
        keep: (db) => upsertAccount(db, {name, apiUrl: url ?? '', timeZone: timeZone ?? 'UTC'}),
        tell: () => `account ${name} is added`,
      }),
    },
  });
  const {accountId} = place.account;
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at, records)
     VALUES ($1, 'jobs', 'full', 'schedule', 'certified', now() - interval '1 hour', now() - interval '59 minutes', 3000)`,
    [accountId],
  );
  await place.pool.query(
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id) VALUES ($1, 'jobs', 'custom_text1', 'jobs', '{text}', 1)`,
    [accountId],
  );
  await place.edit(1, `name = '${hostile.replaceAll("'", "''")}'`);
});
afterAll(async () => {
  await browser?.close();
  await place?.close();
});

/** What stands out at the right, but for what moves in a frame of its own. */
const tooWide = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth && each.closest('.scroll') === null)
  .map((each) => each.outerHTML.slice(0, 200))`;

interface Look {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly scripts?: boolean;
}

/** What a browser complained of, and the addresses elsewhere that it asked for. */
const complaints: string[] = [];

async function openContext({
  theme = 'light',
  width = 1280,
  scripts = true,
}: Look = {}): Promise<BrowserContext> {
  const context = await browser.newContext({
    ...{viewport: {width, height: 900}, colorScheme: theme, javaScriptEnabled: scripts},
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

async function openPage(look: Look, path: string): Promise<Page> {
  const page = await (await openContext(look)).newPage();
  await page.goto(place.url + path);
  return page;
}

test('every page of the console has an address here', () => {
  expect(pages.map(({path}) => path).toSorted()).toEqual(Object.keys(addresses).toSorted());
});

describe.each([
  {theme: 'light', width: 1280},
  {theme: 'light', width: 360},
  {theme: 'dark', width: 1280},
  {theme: 'dark', width: 360},
] as const)('in $theme, $width px wide', (look) => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = await openContext(look);
  });
  afterAll(() => context?.close());

  test.each(Object.values(addresses))('%s is whole, and open to everybody', async (path) => {
    complaints.length = 0;
    const page = await context.newPage();
    const answer = await page.goto(place.url + path);
    expect(answer?.status()).toBe(200);
    expect((await answer?.body())?.length).toBeLessThan(150_000);
    // Tables move in their own frames: the page itself never does.
    expect(await page.evaluate(tooWide)).toEqual([]);
    await page.evaluate(axe);
    const flaws =
      'axe.run().then(({violations}) => violations.map(({id, nodes}) => id + ": " + nodes[0].html))';
    expect(await page.evaluate(flaws)).toEqual([]);
    expect(await page.title()).not.toBe('taken');
    expect(complaints).toEqual([]);
    await page.close();
  });
});

test('without scripts every page is there, a filter is an address, and a form does what it says', async () => {
  const context = await openContext({scripts: false});
  const page = await context.newPage();
  for (const path of Object.values(addresses))
    expect((await page.goto(place.url + path))?.status(), path).toBe(200);
  await page.goto(`${place.url}/sweeps`);
  await page.getByLabel('State').selectOption('certified');
  await page.locator('form.filters').getByRole('button', {name: 'Show'}).click();
  expect(new URL(page.url()).searchParams.get('state')).toBe('certified');
  await page.getByRole('button', {name: 'tasks of acme'}).click();
  expect(await page.locator('[role=status]').textContent()).toContain('is due');
  await context.close();
});

test('a key is typed, and the page that was asked for is shown', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${place.url}/sweeps`);
  await page.getByLabel('Key').fill('fm_nothing');
  await page.getByRole('button', {name: 'Sign in'}).click();
  expect(await page.textContent('h1')).toBe('This key opens nothing');
  await context.close();
});

test('an open page shows what another person did, without being asked', async () => {
  const id = await place.edit(2, `phone_number = '555-0177'`);
  const one = await openPage({}, `/changes/${id}`);
  const other = await openPage({}, `/changes/${id}`);
  await other.getByRole('button', {name: 'Hold'}).click();
  await one.locator('main .mark', {hasText: 'held'}).first().waitFor();
  await one.context().close();
  await other.context().close();
});

test('what a person has ticked and typed is kept when the page is drawn anew', async () => {
  const page = await openPage({}, '/accounts');
  await page.getByLabel('Reason').first().fill('stocktaking');
  for (const _time of ['once', 'and again']) {
    const redrawn = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/accounts');
    await place.pool.query(`UPDATE sync.accounts SET state = state`);
    await redrawn;
  }
  expect(await page.getByLabel('Reason').first().inputValue()).toBe('stocktaking');
  await page.context().close();
});

/** How each action is done: on which page, what is filled in, which button. */
interface Doing {
  readonly action: string;
  readonly prepare?: () => Promise<string>;
  /** `$` stands for what was prepared. */
  readonly path: string;
  readonly opens?: string;
  readonly fill?: Readonly<Record<string, string>>;
  readonly button: string;
}

const held = async (state: string) => {
  const id = await place.edit(3, `phone_number = '${Math.random()}'`);
  await place.set(id, state);
  return id;
};

const doings: readonly Doing[] = [
  {action: 'sweeps.request', path: '/sweeps', button: 'employees'},
  {
    action: 'sweeps.approve',
    prepare: async () => {
      const {rows} = await place.pool.query(
        `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at, reasons)
         VALUES ($1, 'customers', 'full', 'schedule', 'stopped', now(), now(), '{"too many"}') RETURNING sweep_id`,
        [place.account.accountId],
      );
      return rows[0].sweep_id;
    },
    path: '/sweeps/$',
    button: 'Let 0 rows go',
  },
  {action: 'changes.hold', prepare: () => held(`state = 'pending'`), path: '/changes/$', button: 'Hold'},
  {action: 'changes.release', prepare: () => held(`state = 'held'`), path: '/changes/$', button: 'Release'},
  {action: 'changes.cancel', prepare: () => held(`state = 'held'`), path: '/changes/$', button: 'Give up'},
  {
    action: 'changes.retry',
    prepare: () => held(`state = 'rejected', settled_at = now(), reason = '422: no'`),
    path: '/changes/$',
    button: 'Try again',
  },
  {
    action: 'changes.decide',
    prepare: () => held(`state = 'pending'`),
    path: '/changes/preview?choice=hold&state=pending&all=yes',
    button: 'Hold:',
  },
  {action: 'records.fetch', path: '/records/jobs/11?account=acme', button: 'Fetch again'},
  {
    action: 'fields.name',
    path: '/fields?table=jobs&field=custom_text1&account=acme',
    fill: {'Name in mart.jobs': 'gate_code'},
    button: 'Give it this name',
  },
  {action: 'accounts.check', path: '/accounts?account=acme', button: 'Check'},
  {action: 'accounts.pause', path: '/accounts?account=acme', fill: {Reason: 'holidays'}, button: 'Pause'},
  {action: 'accounts.resume', path: '/accounts?account=acme', button: 'Resume'},
  {
    action: 'keys.add',
    path: '/accounts',
    opens: 'Make a key',
    fill: {Name: 'dana'},
    button: 'Make it',
  },
  {
    action: 'accounts.add',
    path: '/accounts',
    opens: 'Add an account, or give one a new token',
    fill: {
      Name: 'north',
      Address: 'https://example.com/north',
      Zone: 'America/Chicago',
      'API token': 'made-up',
    },
    button: 'Try and keep',
  },
  {action: 'keys.revoke', path: '/accounts', button: 'Revoke'},
];

describe('by its button', () => {
  test.each(doings)(
    '$action is done, and stands in the audit',
    async ({action, prepare, path, opens, fill = {}, button}) => {
      const made = (await prepare?.()) ?? '';
      const count = async () =>
        (await place.pool.query('SELECT count(*)::integer AS n FROM sync.audit WHERE action = $1', [action]))
          .rows[0].n;
      const before = await count();
      const page = await openPage({}, path.replace('$', made));
      if (opens !== undefined) await page.getByText(opens, {exact: true}).click();
      for (const [label, value] of Object.entries(fill))
        await page.getByLabel(label, {exact: true}).locator('visible=true').first().fill(value);
      await Promise.all([
        page.waitForEvent('load'),
        page.locator('main').getByRole('button', {name: button}).first().click(),
      ]);
      expect(await count()).toBe(before + 1);
      await page.context().close();
    },
  );

  test('every action of the console is tried here, but for two that a conflict or the service makes possible', () => {
    const elsewhere = ['changes.accept', 'changes.resolve'];
    const tried = [...doings.map(({action}) => action), ...elsewhere].toSorted();
    expect([...new Set(actions.map(({name}) => name))].toSorted()).toEqual([...new Set(tried)].toSorted());
  });
});
