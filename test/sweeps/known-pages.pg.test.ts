// A page that comes again byte for byte is not cut: and nothing that happens to its records' rows
// is missed for it.

import {createSecretKey} from 'node:crypto';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {findStream} from '../../src/streams/all.ts';
import {type CutPage, digestPage, KnownPages, type PageAhead} from '../../src/sweeps/pages.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;
beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  await world.sweepAll();
});
afterAll(async () => {
  await world?.close();
  await service?.close();
});

const jobs = findStream('jobs');
const read = async (text: string, values: unknown[] = []) =>
  (await world.pool.query(text, values)).rows;
const readPages = () =>
  read(
    `SELECT page, digest, hashes, xmin::text FROM sync.known_pages WHERE stream = 'jobs'
     ORDER BY page`,
  );
/** The jobs of another account. */
const newList = async (name: string) => {
  const text = `INSERT INTO sync.accounts (name, api_url, time_zone) VALUES ($1, $1, 'UTC')
    RETURNING account_id`;
  return {accountId: (await read(text, [name]))[0].account_id as string, stream: jobs};
};

/** A page as a service sends it, of records that nobody else has. */
const pageOf = (page: number, texts: readonly string[]) => {
  const body = Buffer.from(
    '<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array">\n' +
      `${texts.map((text) => `<job><note>${text}</note></job>`).join('\n')}\n</jobs>`,
  );
  return {
    page,
    body,
    coding: '',
    bodyBytes: body.length,
    contentType: 'application/xml',
    dateHeader: null,
    ms: 1,
  };
};

/** Cuts a page as a sweep does when it comes. */
async function cut(pages: KnownPages, page: PageAhead): Promise<CutPage> {
  const recognise = await pages.recogniserOf(page.page);
  recognise({bytes: page.body, coding: page.coding});
  return await pages.cut(page);
}

test('a full sweep keeps a digest of each page and a hash of each record', async () => {
  const pages = await readPages();
  const [{key}] = await read('SELECT uuid_send(page_key) AS key FROM sync.accounts');
  const known = await read(`SELECT bytes_hash FROM sync.known_records WHERE stream = 'jobs'`);
  const hashes = pages.flatMap(({hashes}) => hashes.toString('hex').match(/.{32}/g));
  expect(new Set(hashes)).toEqual(new Set(known.map((row) => row.bytes_hash.toString('hex'))));
  expect(hashes.length).toBe(known.length);
  expect([key.length, pages[0].digest.length]).toEqual([
    16,
    digestPage(createSecretKey(key), {bytes: Buffer.from(''), coding: ''}).length,
  ]);
});

test('a sweep of an unchanged service does not write the known pages again', async () => {
  const before = await readPages();
  await world.sweepAll();
  expect(await readPages()).toEqual(before);
});

test.each([
  ['marked deleted', 'UPDATE warehouse.jobs SET _deleted_at = now() WHERE job_number = $1'],
  ['removed by hand', 'DELETE FROM warehouse.jobs WHERE job_number = $1'],
])('a row that was %s is restored by a sweep of the same pages', async (_, change) => {
  const [{job_number: number}] = await read(
    'SELECT min(job_number) AS job_number FROM warehouse.jobs',
  );
  const client = await world.pool.connect();
  await client.query(`BEGIN; SELECT set_config('fieldmirror.writer', 'sweep', true)`);
  await client.query(change, [number]);
  await client.query('COMMIT');
  client.release(true);
  const before = await readPages();
  await world.sweepAll();
  expect(
    await read('SELECT _deleted_at FROM warehouse.jobs WHERE job_number = $1', [number]),
  ).toEqual([{_deleted_at: null}]);
  expect(await readPages()).toEqual(before);
});

test('an unchanged page gets its kept hashes, and a changed page is cut again', async () => {
  const list = await newList('sample');
  const first = new KnownPages(world.pool, list);
  const before = await cut(first, pageOf(1, ['one', 'two']));
  await first.save();
  // Other hashes than those of the page tell whether the table was asked.
  await read(
    `UPDATE sync.known_pages SET hashes = decode(repeat('ab', 32), 'hex') WHERE account_id = $1`,
    [list.accountId],
  );
  const again = new KnownPages(world.pool, list);
  expect((await cut(again, pageOf(1, ['one', 'two']))).hashes?.toString('hex')).toBe(
    'ab'.repeat(32),
  );
  expect((await cut(again, pageOf(1, ['one', 'three']))).hashes?.subarray(0, 16)).toEqual(
    before.hashes?.subarray(0, 16),
  );
});

test('all pages of a long list are kept', async () => {
  const list = await newList('long');
  const first = new KnownPages(world.pool, list);
  for (let page = 1; page <= 150; page++) await cut(first, pageOf(page, [`record ${page}`]));
  await first.save();
  await read(
    `UPDATE sync.known_pages SET hashes = int4send(page) || repeat('x', 12)::bytea
      WHERE account_id = $1`,
    [list.accountId],
  );
  const again = new KnownPages(world.pool, list);
  for (let page = 1; page <= 150; page++)
    expect((await cut(again, pageOf(page, [`record ${page}`]))).hashes?.readInt32BE(0)).toBe(page);
});

test('a page that is empty or cannot be cut into records is not kept', async () => {
  const list = await newList('odd');
  const pages = new KnownPages(world.pool, list);
  const {body, ...rest} = pageOf(1, ['one']);
  await cut(pages, {
    ...rest,
    body: Buffer.from(body.toString().replace('<job>', '<!-- odd --><job>')),
  });
  await cut(pages, pageOf(2, []));
  await pages.save();
  expect(
    await read('SELECT page FROM sync.known_pages WHERE account_id = $1', [list.accountId]),
  ).toEqual([]);
});

test('each account has a separate key for its pages', async () => {
  await newList('other');
  const text = 'SELECT count(*) AS accounts, count(DISTINCT page_key) AS keys FROM sync.accounts';
  const [{accounts, keys}] = await read(text);
  expect([Number(accounts) > 1, keys]).toEqual([true, accounts]);
});
