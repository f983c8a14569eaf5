// The documents as a site: whole, in a real browser from a disk, with nothing asked of any other
// machine.

import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import type {Browser, Page} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {buildSite} from '../docs/site/build-site.ts';
import {addressOf} from '../docs/site/resolve-link.ts';
import {openBrowser} from './support/browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const root = join(import.meta.dirname, '..');
const documents = execFileSync('git', ['ls-files', 'README.md', 'CHANGELOG.md', 'docs'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.endsWith('.md') && existsSync(join(root, path)));
const folder = mkdtempSync(join(tmpdir(), 'site-'));

let pages: readonly string[];
let browser: Browser;
beforeAll(async () => {
  pages = await buildSite(folder);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, {recursive: true, force: true});
});

const read = (address: string) => readFileSync(join(folder, address), 'utf8');

test('every document of the repository is a page, and has a link to it', () => {
  const addresses = documents.map((path) => addressOf(path, {documents}));
  expect(addresses.filter((address) => !pages.includes(address))).toEqual([]);
  const ends = new Set(pages.flatMap((address) => listEnds(address).map(({to}) => to)));
  expect(addresses.filter((address) => !ends.has(address))).toEqual([]);
});

test('the target of every link, picture and anchor exists in the site', () => {
  const broken = pages.flatMap((address) =>
    listEnds(address)
      .filter(({to, anchor}) => !existsSync(join(folder, to)) || !hasAnchor(to, anchor))
      .map(({to, anchor}) => `${address}: ${to}#${anchor}`),
  );
  expect(broken).toEqual([]);
});

test('no two elements of a page have one id, so that an anchor leads to one place', () => {
  const repeated = pages.flatMap((address) => {
    const ids = [...read(address).matchAll(/<[^>]* id="([^"]*)"/g)].map(([, id]) => id);
    return ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${address}#${id}`);
  });
  expect(repeated).toEqual([]);
});

interface End {
  /** A path in the site. */
  readonly to: string;
  /** Empty where the link leads to the page. */
  readonly anchor: string;
}

/** Where the links and pictures of a page lead; addresses of other machines are left out. */
function listEnds(address: string): End[] {
  const links = [...read(address).matchAll(/ (?:href|src|srcset)="([^"]*)"/g)].map(
    ([, link = '']) => link,
  );
  return links
    .filter((link) => !/^https?:/.test(link))
    .map((link) => {
      const [path = '', anchor = ''] = link.split('#');
      return {to: path === '' ? address : join(dirname(address), path), anchor};
    });
}

function hasAnchor(address: string, anchor: string): boolean {
  return anchor === '' || read(address).includes(` id="${anchor}"`);
}

/** What a browser complained of, and what it asked for elsewhere. */
const complaints: string[] = [];

async function openPage(
  address: string,
  {theme, width}: {theme: 'light' | 'dark'; width: number},
): Promise<Page> {
  const context = await browser.newContext({viewport: {width, height: 900}, colorScheme: theme});
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  context.on('request', (request) => {
    if (!request.url().startsWith(pathToFileURL(folder).href))
      complaints.push(`asked for ${request.url()}`);
  });
  const page = await context.newPage();
  await page.goto(pathToFileURL(join(folder, address)).href);
  return page;
}

describe.each([
  {theme: 'light', width: 1280},
  {theme: 'dark', width: 360},
] as const)('in $theme, $width px wide', (look) => {
  test.each(['index.html', 'watching.html', 'decisions/index.html'])(
    '%s has no overflow, no browser error and no accessibility violation',
    async (address) => {
      complaints.length = 0;
      const page = await openPage(address, look);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(complaints).toEqual([]);
      await page.evaluate(axe);
      // A page from a disk may not read its own sheet as a text.
      const flaws =
        'axe.run({preload: false}).then(({violations}) => ' +
        'violations.map(({id, nodes}) => id + ": " + nodes[0].html))';
      expect(await page.evaluate(flaws)).toEqual([]);
      await page.context().close();
    },
  );
});

test('the search finds a word by its first letters, from a page in a folder', async () => {
  complaints.length = 0;
  const page = await openPage('decisions/0027-alerts.html', {theme: 'light', width: 1280});
  await page.getByRole('searchbox').fill('tombst');
  const found = page.locator('#found li', {hasText: 'a row whose record was deleted'});
  await found.waitFor();
  await found.getByRole('link').click();
  await page.waitForURL('**/tour.html#words');
  expect(complaints).toEqual([]);
  await page.context().close();
});

test('typing the code of a message into the search opens its page', async () => {
  complaints.length = 0;
  const page = await openPage('index.html', {theme: 'dark', width: 360});
  await page.getByRole('searchbox').fill('A06');
  await page.locator('#found li').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/alerts.html#a06-unproven');
  expect(complaints).toEqual([]);
  await page.context().close();
});
