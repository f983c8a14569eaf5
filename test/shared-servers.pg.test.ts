// The fate of the servers that all tests share, when one of them cannot be made.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import pg from 'pg';
import {afterAll, beforeAll, expect, test, vi} from 'vitest';
import {SetUp} from './support/set-up.ts';
import {type Makers, startServers} from './support/shared-servers.ts';

// Where the tests run on a given server, these still make their own.
beforeAll(() => void vi.stubEnv('TEST_POSTGRES_URL', undefined));
afterAll(() => void vi.unstubAllEnvs());

/** Fails as a maker does when Postgres refuses its statement. */
async function refuse(url: string): Promise<never> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('sel ect');
  } finally {
    await client.end();
  }
  throw new Error('expected Postgres to refuse the statement');
}

const quiet: Makers = {
  warehouse: async () => {},
  business: async () => {},
  redis: async () => null,
};

/**
 * Starts servers of which one cannot be made. @returns the error's words, and the place of the
 * Postgres
 */
async function fail(change: (see: (url: string) => Promise<void>) => Partial<Makers>) {
  let [url, home] = ['', ''];
  const see = async (seen: string) => {
    const superuserUrl = Object.assign(new URL(seen), {username: 'superuser'}).href;
    const client = new pg.Client(superuserUrl);
    await client.connect();
    const {rows} = await client.query(`SELECT current_setting('data_directory') AS home`);
    await client.end();
    [url, home] = [seen, rows[0].home];
  };
  const failing = startServers(new SetUp(), {...quiet, warehouse: see, ...change(see)});
  const said = await failing.then(
    () => 'nothing failed',
    (error: Error) => error.message,
  );
  return {said, url, home};
}

async function expectGone({
  url,
  home,
}: {
  readonly url: string;
  readonly home: string;
}): Promise<void> {
  await expect(new pg.Client(url).connect()).rejects.toMatchObject({code: 'ECONNREFUSED'});
  expect(home).not.toBe('');
  expect(existsSync(home)).toBe(false);
}

test('a warehouse template that cannot be made is named, and nothing remains', async () => {
  const failed = await fail((see) => ({
    warehouse: async (url) => {
      await see(url);
      await refuse(url);
    },
  }));
  expect(failed.said).toBe('making the warehouse template: syntax error at or near "sel"');
  await expectGone(failed);
});

test('a business template that cannot be made is named, and nothing remains', async () => {
  const failed = await fail(() => ({business: refuse}));
  expect(failed.said).toBe('making the business template: syntax error at or near "sel"');
  await expectGone(failed);
});

test('a Redis that does not start is named, and no Postgres or folder remains', async () => {
  const failed = await fail(() => ({redis: () => Promise.reject(new Error('no port is free'))}));
  expect(failed.said).toBe('starting Redis: no port is free');
  await expectGone(failed);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'after %s no Postgres or folder remains',
  async (signal) => {
    const script = fileURLToPath(new URL('support/held-postgres.ts', import.meta.url));
    const holder = spawn(process.execPath, [script], {stdio: ['ignore', 'pipe', 'inherit']});
    const [line] = await once(createInterface(holder.stdout), 'line');
    holder.kill(signal);
    const [code] = await once(holder, 'exit');
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143);
    await expectGone(JSON.parse(line));
  },
);
