// A reader of some columns: a row that changed in other columns alone is left out, and the reader
// moves on.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {readFeed} from '../../src/feed/feed.ts';
import {type Login, openLogin} from './logins.ts';
import {type Entry, type FeedPlace, openFeedPlace} from './place.ts';

let place: FeedPlace;
let erp: Login;
let rowId = '';
beforeAll(async () => {
  place = await openFeedPlace();
  erp = await openLogin(place.url, 'fieldmirror_author');
  rowId = await place.sent('customers', {customer_number: 1, id: 101, name: 'Acme'});
});
afterAll(async () => {
  await erp?.close();
  await place?.close();
});

const set = (assignment: string) =>
  place.sweep(`UPDATE warehouse.customers SET ${assignment} WHERE row_id = $1`, [rowId]);

/** What the author is told of these columns. */
async function read(after: string, columns: string, more = ''): Promise<Entry[]> {
  await place.end();
  const text = `SELECT * FROM sync.feed($1, of_columns => $2 ${more})`;
  return (await erp.pool.query<Entry>(text, [after, columns])).rows;
}

test('changes of other columns are left out; created and removed rows are not', async () => {
  const start = await place.end();
  await set(`updated_at = now()`);
  await set(`phone_number = '1', updated_at = now()`);
  await set(`fax = '2'`);
  const other = await place.sent('customers', {customer_number: 2, id: 102, name: 'Bolt'});
  await place.sweep('UPDATE warehouse.customers SET _deleted_at = now() WHERE row_id = $1', [
    other,
  ]);
  const told = (await read(start, '{phone_number,name}')).map(({operation, after}) => [
    operation,
    Object.keys(after ?? {}).sort(),
  ]);
  expect(told).toEqual([
    ['changed', ['phone_number', 'updated_at']],
    ['created', ['customer_number', 'extra', 'id', 'name']],
    ['removed', []],
  ]);
  expect(await read(start, '{fax}', `, of_tables => '{customers}', most => 1`)).toMatchObject([
    {operation: 'changed', after: {fax: '2'}},
  ]);
});

test('each change of a value to or from NULL is an entry', async () => {
  const start = await place.end();
  for (const value of [`'3'`, 'NULL', `'3'`]) await set(`pager = ${value}`);
  await set('extra = \'{"a": 1}\'');
  expect(await read(start, '{pager}')).toHaveLength(3);
  expect(await read(start, '{extra}')).toHaveLength(1);
});

test('a table without the columns has no changes; an unknown column is refused', async () => {
  const task = await place.sent('tasks', {id: 61, name: 'Call'});
  const start = await place.end();
  await place.sweep(`UPDATE warehouse.tasks SET name = 'Write' WHERE row_id = $1`, [task]);
  expect(await read(start, '{phone_number}')).toEqual([]);
  expect(await read(start, '{name}')).toHaveLength(1);
  await expect(read(start, '{phone_number}', `, of_tables => '{tasks}'`)).rejects.toThrow(
    'columns: expected columns of tasks, got phone_number',
  );
  for (const none of ['{phones}', '{_changed_at}', '{"name; --"}'])
    await expect(read(start, none)).rejects.toThrow('columns: expected columns of');
});

/** Adds entries that change the row of another entry again. @returns the end of the feed */
async function repeat(table: string, count: number): Promise<string> {
  await place.pool.query(
    `INSERT INTO sync.feed_entries (account_id, table_name, row_id, operation, at)
     SELECT entry.account_id, entry.table_name, entry.row_id, 'changed', entry.at
       FROM (SELECT * FROM sync.feed_entries WHERE operation = 'changed' AND table_name = $1
              ORDER BY entry_id DESC LIMIT 1) AS entry, generate_series(1, $2::integer)`,
    [table, count],
  );
  return await place.end();
}

const distance = (from: string, to: string) =>
  Number(to.split('-')[1]) - Number(from.split('-')[1]);

const query = {
  limit: 10,
  tables: null,
  columns: ['fax'],
  changes: false,
  accountId: null,
  readers: null,
  system: null,
};

test('a reader without matching entries advances at most 20,000 positions per read', async () => {
  const start = await place.end();
  const end = await repeat('tasks', 30_000);
  const first = await readFeed(place.pool, {...query, after: start});
  expect(first).toMatchObject({entries: [], hasMore: true});
  expect(distance(start, first.cursor)).toBe(20_000);
  const second = await readFeed(place.pool, {...query, after: first.cursor});
  expect(second).toEqual({entries: [], cursor: end, hasMore: false});
});

test('a reader far behind receives each match, also after one at the 20,000th entry', async () => {
  await set(`fax = '4'`);
  const start = await place.end();
  await repeat('tasks', 19_999);
  const matching = await repeat('customers', 1);
  expect(distance(start, matching)).toBe(20_000);
  await repeat('tasks', 400);
  const end = await repeat('customers', 2);
  const first = await readFeed(place.pool, {...query, after: start});
  expect(first).toMatchObject({entries: [{cursor: matching}], hasMore: true});
  const second = await readFeed(place.pool, {...query, after: first.cursor});
  expect(second).toMatchObject({entries: [{}, {}], cursor: end, hasMore: false});
  // The rule of docs/feed.md for a reader in SQL.
  const cursors: string[] = [];
  for (let [after, entries] = [start, [] as Entry[]]; ; after = entries.at(-1)?.cursor ?? '') {
    entries = await read(after, '{fax}', ', most => 10');
    if (entries.length === 0) break;
    cursors.push(...entries.map(({cursor}) => cursor));
  }
  expect([cursors[0], cursors.length, cursors.at(-1)]).toEqual([matching, 3, end]);
  const fromOldest: string[] = [];
  for (let after: string | null = null, hasMore = true; hasMore; ) {
    const page = await readFeed(place.pool, {...query, after});
    fromOldest.push(...page.entries.map(({cursor}) => cursor));
    ({cursor: after, hasMore} = page);
  }
  expect(fromOldest.slice(-3)).toEqual(cursors);
});

test('without a limit, every matching entry comes at once', async () => {
  const start = await place.end();
  for (const value of ['5', '6', '7']) await set(`fax = '${value}'`);
  expect(await read(start, '{fax}', ', most => NULL')).toHaveLength(3);
});
