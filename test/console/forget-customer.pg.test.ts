// A customer is forgotten in the console: by an admin alone, shown first, typed back, with the
// receipt afterwards.

import {randomBytes} from 'node:crypto';
import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addApiKey} from '../../src/accounts/access.ts';
import {openServer} from '../../src/console/server.ts';
import {createLogger} from '../../src/core/log.ts';
import {openPools} from '../../src/http/api.ts';
import {inTransaction} from '../../src/postgres/database.ts';
import {inSequence} from '../support/patterns.ts';
import {plainConsole} from '../support/plain-console.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {makePerson, openPlace, type Person} from './place.ts';
import {openRecords, type RecordsPlace, withoutChance} from './records-place.ts';

const path = '/records/customers/21/forget';
const personal = /Wren|Brien|0178|Back door|Gate|Boiler|Key under|Valve/;
let place: RecordsPlace;
let admin: Person;

beforeAll(async () => {
  place = await openRecords();
  admin = await place.person({role: 'admin'});
});
afterAll(() => place?.close());

const select = async (text: string) => (await place.pool.query(text)).rows;
const receipts = () =>
  select(
    `SELECT customer_number, forgotten_by, removed FROM sync.forgotten
      WHERE account_id = 1 ORDER BY forgotten_id`,
  );
const names = () =>
  select(
    `SELECT account_id, customer_number, name FROM warehouse.customers
      WHERE customer_number IN (1, 21) ORDER BY 1, 2`,
  );

describe('before a customer is forgotten', () => {
  test('the preview and the form list unfinished changes and refuse to continue', async () => {
    const {status, text} = await admin.get(path);
    expect(status).toBe(200);
    expect(text).toMatch(/changes of the customer are not over: \d+\. Push them, or cancel them/);
    expect(text).not.toContain('name="typed"');
    const sent = await admin.post(path, {account: 'acme', typed: '21'});
    expect(sent.status).toBe(422);
    expect(sent.text).toMatch(/are not over: \d+\. Push them.*Nothing was done/);
    expect(await receipts()).toEqual([]);
    await place.pool.query(
      `UPDATE sync.changes SET state = 'done', settled_at = now() WHERE table_name = 'jobs'`,
    );
  });

  test('the preview counts the rows that would be removed, and removes nothing', async () => {
    const before = await names();
    const story = await admin.json(`${path}?account=acme`);
    expect(story).toMatchObject({
      number: '21',
      account: 'acme',
      name: "Wren O'Brien",
      isLive: true,
      refusal: null,
      receipts: [],
    });
    expect(story.removed).toEqual(
      expect.arrayContaining([
        {table: 'warehouse.customers', rows: 1},
        {table: 'warehouse.jobs', rows: 2},
        {table: 'sync.changes', rows: 1},
      ]),
    );
    const {text} = await admin.get(`${path}?account=acme`);
    expect(text).toContain('Its number, typed back');
    expect(text).toContain('The service still has this customer.');
    expect(await names()).toEqual(before);
    expect(await receipts()).toEqual([]);
  });

  test('only an admin sees the link; others are refused the preview and the form', async () => {
    expect((await admin.get('/records/customers/21')).text).toContain('Forget this customer');
    expect((await admin.get('/records/jobs/31')).text).not.toContain('Forget this customer');
    for (const role of ['viewer', 'operator'] as const) {
      const person = await place.person({role});
      expect((await person.get('/records/customers/21')).text).not.toContain(
        'Forget this customer',
      );
      expect((await person.get(path)).status).toBe(403);
      expect((await person.post(path, {account: 'acme', typed: '21'})).status).toBe(403);
    }
    expect(await receipts()).toEqual([]);
  });

  test('a person with a masking key sees nothing personal in the preview', async () => {
    const masked = await place.person({role: 'admin', masks: true});
    for (const {text} of [await masked.get(path), await masked.get(`${path}?as=json`)])
      expect(withoutChance(text)).not.toMatch(personal);
  });

  test('a wrong number typed back or an unknown customer removes nothing', async () => {
    for (const typed of ['', '12', 'twenty-one'])
      expect((await admin.post(path, {account: 'acme', typed})).text).toMatch(
        /expected the number 21, typed back/,
      );
    const status = async (to: string, account: string, typed: string) =>
      (await admin.post(to, {account, typed})).status;
    expect(await status('/records/customers/99/forget', 'acme', '99')).toBe(404);
    expect(await status(path, 'nobody', '21')).toBe(404);
    expect(await status(path, 'other', '21')).toBe(404);
    expect(await status('/records/customers/row-1/forget', 'acme', 'row-1')).toBe(404);
    expect((await admin.get('/records/customers/99/forget')).status).toBe(404);
    expect(await receipts()).toEqual([]);
  });
});

describe('after the number is typed back', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fieldmirror-forget-'));
    await writeFile(join(folder, 'named.html'), '<p>Wren O&#39;Brien</p>');
    await place.pool.query(
      `INSERT INTO sync.weekly_reports (account_id, week, file)
        VALUES (1, '2027-01-04', $1), (1, '2027-01-11', $2)`,
      [join(folder, 'named.html'), join(folder, 'gone.html')],
    );
  });
  afterAll(() => rm(folder, {recursive: true}));

  test('only personal data of this customer is deleted; receipt and audit hold none', async () => {
    const [kept] = await names();
    const viewer = await place.person({role: 'viewer'});
    const pages = ['/records/customers/21', '/records/jobs/31', '/records?q=21'];
    for (const page of pages) expect((await viewer.get(page)).text).toMatch(personal);
    const sent = await admin.post(path, {account: 'acme', typed: ' 21 ', back: path});
    expect([sent.status, sent.headers.get('location')]).toEqual([
      303,
      '/records/customers/21?account=acme',
    ]);
    const {text} = await admin.get('/records/customers/21?account=acme');
    expect(text).toMatch(/Customer 21 of acme is forgotten: \d+ rows in \d+ tables\./);
    expect(text).toContain(`Removed weekly reports ${join(folder, 'named.html')}`);
    expect(text).toContain(`cannot be read from here: ${join(folder, 'gone.html')}`);
    expect(await readdir(folder)).toEqual([]);
    for (const page of pages)
      expect(withoutChance((await viewer.get(page)).text)).not.toMatch(personal);
    expect(await names()).toEqual([
      kept,
      {account_id: '1', customer_number: '21', name: null},
      {account_id: '2', customer_number: '1', name: 'Acme'},
    ]);
    const held = await select(
      `SELECT to_jsonb(row)::text AS text FROM (SELECT * FROM history.customers) AS row
       UNION ALL SELECT to_jsonb(row)::text FROM (SELECT * FROM history.jobs) AS row
       UNION ALL SELECT to_jsonb(row)::text FROM sync.audit AS row
       UNION ALL SELECT to_jsonb(row)::text FROM sync.forgotten AS row`,
    );
    expect(held.filter((row) => personal.test(withoutChance(row.text)))).toEqual([]);
    const [receipt] = await receipts();
    expect(receipt).toMatchObject({customer_number: '21', removed: {'warehouse.customers': 1}});
    const [entry] = await select(
      'SELECT name, role, action, subject, after FROM sync.audit ORDER BY audit_id DESC LIMIT 1',
    );
    expect(entry).toEqual({
      name: 'person-1',
      role: 'admin',
      action: 'customers.forget',
      subject: 'customers 21',
      after: {removed: receipt.removed},
    });
  });

  test('Postgres statistics hold none of its values, and the table is vacuumed', async () => {
    const found = await select(
      `SELECT tablename FROM pg_stats WHERE schemaname IN ('warehouse', 'history')
       AND most_common_vals::text || coalesce(histogram_bounds::text, '') ~ 'Brien'`,
    );
    expect(found).toEqual([]);
    expect(
      await select(
        `SELECT FROM pg_stat_user_tables WHERE relname = 'customers' AND last_vacuum IS NULL`,
      ),
    ).toEqual([]);
  });

  test('a viewer sees the receipt, and a second request is refused as already done', async () => {
    const viewer = await place.person({role: 'viewer'});
    const page = await viewer.get('/records/customers/21');
    expect(page.text).toMatch(/The personal data was removed .* by the login/);
    expect(page.text).toContain('warehouse.customers');
    const again = await admin.get(path);
    expect(again.text).toContain('The personal data was removed');
    expect(again.text).not.toContain('name="typed"');
    const late = await admin.post(path, {account: 'acme', typed: '21'});
    expect(late.status).toBe(409);
    expect(late.text).toMatch(/forgotten already, at .*Nothing was done/);
    expect(await receipts()).toHaveLength(1);
  });

  test('if two admins confirm at the same time, one succeeds and the other gets 409', async () => {
    const to = '/records/customers/2/forget';
    const other = await place.person({role: 'admin'});
    const sent = await Promise.all(
      [admin, other].map((person) => person.post(to, {account: 'acme', typed: '2'})),
    );
    expect(sent.map(({status}) => status).toSorted()).toEqual([303, 409]);
    expect((await receipts()).map(({customer_number}) => customer_number)).toEqual(['21', '2']);
  });
});

/** Another console on the same warehouse, with an admin who is signed in to it. */
async function openOther(url: string, lockTimeoutMs: number) {
  const pools = openPools(url, {lockTimeoutMs});
  const log = createLogger({level: 'silent', secrets: []});
  const console = plainConsole(place.databaseUrl);
  const server = await openServer({pools, log, host: '127.0.0.1', port: 0, console});
  const name = `admin-${randomBytes(4).toString('hex')}`;
  const key = await addApiKey(place.pool, {name, accountId: null, role: 'admin', masks: false});
  const person = makePerson(server.url);
  await person.post('/sign-in', {key: key?.reveal() ?? ''});
  const close = async () => {
    await server.close();
    await pools.close();
  };
  return {person, close};
}

describe('a problem while a customer is forgotten', () => {
  const preview = '/records/customers/3/forget?account=acme';
  const forget = (person: Person) =>
    person.post('/records/customers/3/forget', {account: 'acme', typed: '3'});

  test('if the console has the login of a worker, the owner must run the command', async () => {
    const login = `console_${randomBytes(4).toString('hex')}`;
    await makeRole(login, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_worker`);
    const url = new URL(place.databaseUrl);
    url.username = login;
    url.password = 'made-up';
    const {person, close} = await openOther(url.href, 3_000);
    const told = inSequence(
      /expected the login of the warehouse&#39;s owner.*/,
      /call fieldmirror forget customers 3 as the owner/,
    );
    expect(await person.get(preview)).toMatchObject({
      status: 200,
      text: expect.stringMatching(told),
    });
    expect(await forget(person)).toMatchObject({status: 422, text: expect.stringMatching(told)});
    await close();
    await dropRoles(login);
  });

  test('if another transaction holds the row for too long, nothing is done', async () => {
    const {person, close} = await openOther(place.databaseUrl, 50);
    const told = /somebody else was writing for too long.*try again shortly/;
    await inTransaction(place.pool, async (writer) => {
      await writer.query(
        `SELECT FROM warehouse.customers WHERE account_id = 1 AND customer_number = 3 FOR UPDATE`,
      );
      // The preview only reads, and is not held up.
      expect((await person.get(preview)).text).toContain('Its number, typed back');
      expect(await forget(person)).toMatchObject({status: 422, text: expect.stringMatching(told)});
    });
    expect((await forget(person)).status).toBe(303);
    await close();
  });

  test('if the clean-up fails, the customer is still forgotten; the error is shown', async () => {
    const failing = async () => {
      throw new Error('the disk is away');
    };
    const services = {...plainConsole().services, clearUpForgotten: failing};
    const other = await openPlace({services});
    const person = await other.person({role: 'admin'});
    expect(
      (await person.post('/records/customers/3/forget', {account: 'acme', typed: '3'})).status,
    ).toBe(303);
    const {text} = await person.get('/records/customers/3?account=acme');
    expect(text).toMatch(/is forgotten: .* What follows it was not done: the disk is away\./);
    expect(other.logged.join('')).toContain('the disk is away');
    await other.close();
  });
});
