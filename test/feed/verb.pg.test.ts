import {afterAll, beforeAll, expect, test} from 'vitest';
import {runCommand, startCommand} from '../support/command.ts';
import {type FeedPlace, openFeedPlace} from './place.ts';

let place: FeedPlace;
let start: string;
beforeAll(async () => {
  place = await openFeedPlace();
  start = await place.end();
  const rowId = await place.sent('customers', {customer_number: 1, id: 101, name: 'Acme'});
  await place.author(`UPDATE warehouse.customers SET phone_number = '555-0100' WHERE row_id = $1`, [
    rowId,
  ]);
  await place.sent('tasks', {id: 61, name: 'Call'});
});
afterAll(() => place?.close());

const feed = (...args: string[]) => runCommand(['feed', ...args], {DATABASE_URL: place.url});

test('feed prints one line per entry after a cursor, and the next cursor', async () => {
  const {code, stdout} = await feed('--after', start);
  expect(code).toBe(0);
  expect(stdout.trim().split('\n')).toEqual([
    expect.stringMatching(/^\S+Z {2}acme customers 1 created$/),
    expect.stringMatching(
      /^\S+Z {2}acme customers 1 changed by erp: phone_number \(empty\) → 555-0100$/,
    ),
    expect.stringMatching(/^\S+Z {2}acme tasks 61 created$/),
    `continue with: fieldmirror feed --after ${await place.end()}`,
  ]);
});

test('feed --json prints one document; its cursor continues after the last entry', async () => {
  const {stdout} = await feed('--after', start, '--table', 'customers', '--limit', '1', '--json');
  const page = JSON.parse(stdout);
  expect(page.entries).toMatchObject([
    {table: 'customers', operation: 'created', number: '1', after: {name: 'Acme'}},
  ]);
  const rest = JSON.parse((await feed('--after', page.cursor, '--json')).stdout);
  expect(rest.entries.map(({operation}: {operation: string}) => operation)).toEqual([
    'changed',
    'created',
  ]);
});

test('feed --follow prints an entry once it is committed, until it is stopped', async () => {
  const [before] = await place.author('SELECT clock_timestamp()::text AS at');
  const following = startCommand(['feed', '--after', 'end', '--follow', '--json'], {
    DATABASE_URL: place.url,
  });
  await untilFollowed(String(before?.at));
  await place.sent('tasks', {id: 62, name: 'Ring'});
  await following.prints(/"number":"62".*\n/);
  following.process.kill('SIGINT');
  const {code, stdout} = await following.ended;
  expect(code).toBe(0);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{table: 'tasks', after: {name: 'Ring'}}]);
});

test('feed refuses an unknown table, and a cursor of another warehouse', async () => {
  expect(await feed('--table', 'costumers')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('customers'),
  });
  const gone = await feed('--after', '000000000000-1');
  expect(gone).toMatchObject({code: 2, stderr: expect.stringContaining('feed --after end')});
});

/**
 * Resolves when the command has read the feed: what is committed from then on is new to it.
 * @param since - sessions of commands before it may not have ended yet
 */
async function untilFollowed(since: string): Promise<void> {
  for (let count = 0; count === 0; ) {
    const [row] = await place.author(
      `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()
       AND pid <> pg_backend_pid()
          AND query LIKE '%LEFT JOIN sync.feed(%' AND state = 'idle'
          AND backend_start > '${since}'`,
    );
    count = Number(row?.count);
  }
}
