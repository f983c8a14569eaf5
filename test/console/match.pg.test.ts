// A list of an outside system in a real browser: compared, decided pair by pair, linked and taken
// back, with scripts and without; by who may, and by nobody else.

import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Browser, BrowserContext, Page} from 'playwright-core';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openBrowser} from '../support/browser.ts';
import {openPlace, type Person, type Place} from './place.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const hostile = '<img src=x onerror="document.title=`taken`">';

let place: Place;
let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
  place = await openPlace();
});
afterAll(async () => {
  await browser?.close();
  await place?.close();
});

/** Ada and Bert are known to both; Cora is here twice; Dora here alone. */
beforeEach(async () => {
  await inSweepTransaction(place.pool, async (client) => {
    await client.query('UPDATE sync.links SET until = since WHERE until IS NULL');
    await client.query('DELETE FROM warehouse.customers WHERE customer_number > 3');
    await client.query(
      `INSERT INTO warehouse.customers (account_id, customer_number, name, phone_number,
         email_address, service_address, service_city, service_zip_code, _sweep_id)
       VALUES ($1, 11, 'Ada Thornholt', '5035550142', 'ada@example.com', '12 Oak Street', 'Salem',
           '97301', 1),
         ($1, 12, 'Bert Quux', '(503) 555-0177', NULL, '7 Elm Road', 'Salem', '97301', 1),
         ($1, 13, 'Cora Vee', '503 555 0188', NULL, NULL, NULL, NULL, 1),
         ($1, 14, 'Cora Vee', '503 555 0188', 'cora@example.com', NULL, NULL, NULL, 1),
         ($1, 15, 'Dora Wells', NULL, NULL, NULL, NULL, NULL, 1)`,
      [place.account.accountId],
    );
  });
});

const list = `key;name;phone;email;street;city;zip;shoe size
P-1;Thornholt, Ada;+1 503 555 0142;ADA@example.com;12 Oak St.;Salem;97301-0001;7
P-2;BERT QUUX;503-555-0177;;9 Pine Ave;Salem;97302;8
P-3 "x";Cora Vee;503-555-0188;;;;;9
P-4;${hostile};503-555-0111;;;;;9
P-4;twice;;;;;;
`;

const linked = async () => {
  const {rows} = await place.pool.query(
    `SELECT key || '=' || customer_number AS link FROM sync.links AS link
       JOIN warehouse.customers USING (account_id, row_id)
      WHERE until IS NULL AND table_name = 'customers' AND system = 'tryton' ORDER BY 1`,
  );
  return rows.map(({link}) => link);
};

async function open(person: Person, {scripts = true} = {}): Promise<BrowserContext> {
  const context = await browser.newContext({javaScriptEnabled: scripts});
  const [, value = ''] = /fieldmirror=([^;]+)/.exec(person.cookies()) ?? [];
  await context.addCookies([{name: 'fieldmirror', value, url: place.url}]);
  return context;
}

/** Compares the list as a file. */
async function compare(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${place.url}/match?account=acme`);
  await page.getByLabel('Outside system').fill('tryton');
  await page.getByLabel('Its list').setInputFiles({
    name: 'parties.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(list),
  });
  await page.getByRole('button', {name: 'Compare'}).click();
  await page.waitForURL(/compare/);
  return page;
}

describe.each([true, false])('an operator, scripts: %s', (scripts) => {
  test('compares a list, chooses a pair, links the pairs and undoes the batch', async () => {
    const context = await open(await place.person({role: 'operator'}), {scripts});
    const page = await compare(context);
    expect(await page.textContent('.lead')).toContain('2 are surely the same; 1 may be');
    const main = await page.textContent('main');
    expect(main).toContain('Line 6: key P-4: line 5 has it already');
    expect(main).toContain('Not read: column shoe size.');
    expect(main).toContain('Only there: 1');
    expect(await page.title()).not.toBe('taken');
    expect(await linked()).toEqual([]);

    const choice = page.getByRole('group', {name: 'P-3 "x": Cora Vee'});
    const cells = (field: string) => choice.getByRole('row', {name: field}).locator('td');
    expect(await cells('phone').allTextContents()).toEqual([
      ...['phone', '503-555-0188', '503 555 0188✓ the same', '503 555 0188✓ the same'],
    ]);
    await choice.getByLabel('this one').nth(1).check();
    await page.getByRole('button', {name: 'Link what is chosen'}).click();
    await page.waitForURL(`${place.url}/match`);
    expect(await page.textContent('[role=status]')).toContain('3 links are written as one batch');
    expect(await linked()).toEqual(['P-1=11', 'P-2=12', 'P-3 "x"=14']);

    await Promise.all([
      page.waitForEvent('load'),
      page.getByRole('button', {name: 'Take back'}).first().click(),
    ]);
    expect(await page.textContent('[role=status]')).toMatch(/links of batch \d+ are removed: 3\./);
    expect(await linked()).toEqual([]);
    expect(await page.locator('td', {hasText: 'taken back'}).count()).toBeGreaterThan(0);
    const {rows} = await place.pool.query(
      `SELECT action, name, role FROM sync.audit WHERE action LIKE 'links.%'
        ORDER BY audit_id DESC LIMIT 2`,
    );
    const who = {name: expect.stringMatching(/^person-\d+$/), role: 'operator'};
    expect(rows).toEqual([
      {action: 'links.undo', ...who},
      {action: 'links.match', ...who},
    ]);
    await context.close();
  });

  test('links nothing if the sure pairs are unticked and no pair is chosen', async () => {
    const context = await open(await place.person({role: 'operator'}), {scripts});
    const page = await compare(context);
    await page.getByLabel('Link these 2 pairs').uncheck();
    await page.getByRole('button', {name: 'Link what is chosen'}).click();
    await page.getByText('expected a pair to be chosen, got none').waitFor();
    expect(await linked()).toEqual([]);
    await context.close();
  });
});

test('the results fit each width in both themes and are accessible', async () => {
  const context = await open(await place.person({role: 'operator'}));
  const page = await compare(context);
  for (const summary of await page.locator('main summary').all()) await summary.click();
  await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 390, 360]) {
      await page.emulateMedia({colorScheme});
      await page.setViewportSize({width, height: 900});
      const flaws = await page.evaluate(
        `axe.run().then(({violations}) => [
          ...violations.map(({id, nodes}) => id + ': ' + nodes[0].html),
          ...(document.documentElement.scrollWidth > innerWidth ? ['too wide'] : []),
        ])`,
      );
      expect({colorScheme, width, flaws}).toEqual({colorScheme, width, flaws: []});
    }
  await context.close();
});

const fields = {account: 'acme', table: 'customers', system: 'tryton'};
const lines = 'key,name,phone\nP-1,Ada Thornholt,503 555 0142';

describe('a list that cannot be compared', () => {
  test.each([
    [{lines: ''}, 'list: expected a file or its lines, got neither'],
    [{lines, file: lines}, 'list: expected a file or its lines, got both'],
    [{lines: 'name\nAda'}, 'list: expected the columns key, got name'],
    [{lines, table: 'jobs'}, 'table: expected customers or employees, got "jobs"'],
    [{lines, system: 'try ton'}, 'outside system: expected'],
    [{lines, country: 'XX'}, 'country: expected two letters such as US, got "XX"'],
  ])('%j is rejected with the reason', async (given, words) => {
    const operator = await place.person();
    const refused = await operator.post('/match/compare', {...fields, ...given});
    expect([refused.status, refused.text.replaceAll('&quot;', '"')]).toEqual([
      422,
      expect.stringContaining(words),
    ]);
  });

  test('a body that is not a form is rejected with the reason', async () => {
    const operator = await place.person();
    const answer = await fetch(`${place.url}/match/compare`, {
      method: 'POST',
      headers: {cookie: operator.cookies(), 'content-type': 'multipart/form-data; boundary=x'},
      body: 'nothing',
    });
    expect([answer.status, await answer.text()]).toEqual([
      422,
      expect.stringContaining('form: expected the fields of a form'),
    ]);
  });
});

describe('a forged request', () => {
  const rowOf = async (number: number, accountId = place.account.accountId) =>
    (
      await place.pool.query(
        'SELECT row_id FROM warehouse.customers WHERE customer_number = $1 AND account_id = $2',
        [number, accountId],
      )
    ).rows[0].row_id;

  test('writes nothing if a row or a key repeats, or a value is invalid', async () => {
    const operator = await place.person();
    const [ada, bert] = [await rowOf(11), await rowOf(12)];
    for (const [given, words] of [
      [{'pick:a': ada, 'pick:b': ada}, 'expected each record and each key once'],
      [{takesSure: 'yes', sure: `[["${ada}","a"]]`, 'pick:a': bert}, 'each key once'],
      [{'pick:a': 'x'}, 'expected the number of a row'],
      [{takesSure: 'yes', sure: '[['}, 'expected pairs as the page wrote them'],
      [{'pick:': ada}, 'expected a key of 1 to 200 characters'],
    ] as const) {
      const refused = await operator.post('/match/apply', {...fields, ...given});
      expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(words)]);
    }
    expect(await linked()).toEqual([]);
  });

  test('does not link a row of another account', async () => {
    const theirs = await rowOf(1, place.stranger.accountId);
    const operator = await place.person();
    const refused = await operator.post('/match/apply', {...fields, 'pick:P-9': theirs});
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining('expected records without a key, got none'),
    ]);
    expect(await linked()).toEqual([]);
  });

  test('does not undo a batch of another account', async () => {
    const admin = await place.person({role: 'admin'});
    const theirs = await rowOf(1, place.stranger.accountId);
    const given = {...fields, account: 'other'};
    expect((await admin.post('/match/apply', {...given, 'pick:P-9': theirs})).status).toBe(303);
    const {batches} = await admin.json('/match');
    const [{batch}] = batches;
    const operator = await place.person();
    expect((await operator.json('/match')).batches).not.toContainEqual(
      expect.objectContaining({batch}),
    );
    expect((await operator.post(`/match/${batch}/undo`, fields)).text).toContain('has no batch');
    expect(await linked()).toEqual(['P-9=1']);
    expect((await admin.post(`/match/${batch}/undo`, given)).status).toBe(303);
    expect(await linked()).toEqual([]);
  });
});

test('a viewer and a masking key see batches, but cannot compare or link', async () => {
  for (const [given, refusals] of [
    [{role: 'viewer'}, [403, 403, 403]],
    [{role: 'operator', masks: true}, [403, 422, 422]],
  ] as const) {
    const person = await place.person(given);
    const {text} = await person.get('/match');
    expect(text).toContain('Linked so far');
    expect(text).not.toContain('action="/match/compare"');
    const got = [];
    for (const [path, more] of [
      ['/match/compare', {lines}],
      ['/match/apply', {}],
      ['/match/999999/undo', {}],
    ] as const)
      got.push((await person.post(path, {...fields, ...more})).status);
    expect(got).toEqual(refusals);
  }
});
