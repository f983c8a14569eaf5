// One thread reads the pages of all accounts: a page that ends it may cost an attempt of its own
// sweep only.

import {afterEach, expect, test} from 'vitest';
import {FatalError, RetryableError, seePage} from '../../src/core/errors.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {job, list} from '../support/scripted-service.ts';

const readers: PageReader[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.close();
});

/** A thread with next to no memory, which a page of a megabyte ends. */
function openSmall({bytes} = {bytes: 0}): PageReader {
  const reader = new PageReader({
    limits: {maxOldGenerationSizeMb: 12, maxYoungGenerationSizeMb: 4},
    bytes,
  });
  readers.push(reader);
  return reader;
}

function task(page: number, body: string) {
  return {
    stream: 'jobs',
    timeZone: 'America/New_York',
    page,
    body: Buffer.from(body),
    contentType: null,
    known: null,
  };
}

const good = (page: number) => task(page, list('jobs', [job(page)]));
const large = (page: number) =>
  task(page, list('jobs', [job(page, '<a>1</a><b/>'.repeat(120_000))]));

test('a page that ends the thread fails, and later pages are read by a new thread', async () => {
  const reader = openSmall();
  const before = reader.read(good(1));
  const hostile = reader.read(large(2));
  const behind = [3, 4, 5].map((page) => reader.read(good(page)));
  await expect(hostile).rejects.toThrow(RetryableError);
  await expect(hostile).rejects.toThrow(/page 2 of jobs: the thread that was reading it ended/);
  for (const content of [await before, ...(await Promise.all(behind))])
    expect(content.records).toHaveLength(1);
  expect((await reader.read(good(6))).records).toHaveLength(1);
});

test('small pages are read without the thread until their total reaches a limit', async () => {
  const heavy = (page: number) =>
    task(page, list('jobs', [job(page, '<a>1</a><b/>'.repeat(60_000))]));
  const ofThread = /page \d of jobs: the thread that was reading it ended/;
  await expect(openSmall().read(heavy(1))).rejects.toThrow(ofThread);
  const reader = openSmall({bytes: 3_000_000});
  for (const page of [1, 2, 3]) expect((await reader.read(heavy(page))).bad).toHaveLength(1);
  await expect(reader.read(large(4))).rejects.toThrow(ofThread);
  await expect(reader.read(heavy(5))).rejects.toThrow(ofThread);
});

test('of two pages that end the thread, each fails, and no other page does', async () => {
  const reader = openSmall();
  const pages = [large(1), good(2), large(3), good(4)].map((page) => reader.read(page));
  const settled = await Promise.allSettled(pages);
  expect(settled.map(({status}) => status)).toEqual([
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});

test('a page with too many attributes fails without ending the thread', async () => {
  const reader = new PageReader();
  readers.push(reader);
  const attributes = Array.from({length: 1_200_000}, (_, n) => `a${n}="1"`).join(' ');
  const hostile = reader.read(task(1, `<jobs><job ${attributes}/></jobs>`));
  await expect(hostile).rejects.toThrow(FatalError);
  await expect(hostile).rejects.toThrow(/more than 32 attributes/);
});

test.each([
  ['cut short', '<jobs><job>', RetryableError],
  ['with a DOCTYPE', '<!DOCTYPE x><jobs/>', FatalError],
])('a page %s fails alike with the thread and without', async (_, xml, type) => {
  const withThread = new PageReader({bytes: 0});
  const without = new PageReader();
  readers.push(withThread, without);
  const [there, here] = await Promise.allSettled(
    [withThread, without].map((reader) => reader.read(task(1, xml))),
  );
  expect(there).toEqual(here);
  const {reason} = there as PromiseRejectedResult;
  expect(reason).toBeInstanceOf(type);
  expect(seePage(reason)).toBe('see: fieldmirror explain E07');
});

test('closing the reader rejects every page that waits', async () => {
  const reader = openSmall();
  const pages = [good(1), good(2)].map((page) => reader.read(page));
  await Promise.all([Promise.allSettled(pages), reader.close()]);
  for (const page of pages) await expect(page).rejects.toThrow(/was closed/);
});
