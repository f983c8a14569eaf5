// A copy of the warehouse beside the original: the copy sends nothing to the service, not even a
// question, until a person says that it is the one that works.

import {execFileSync} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {afterEach, expect, test} from 'vitest';
import {type Ended, main, runCommand, startCommand, startProgram} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {createDatabase} from '../support/postgres.ts';
import {openProxy} from '../support/proxy.ts';
import {SetUp} from '../support/set-up.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';
import {withClient} from '../support/with-client.ts';

type Env = Readonly<Record<string, string>>;

const setUp = new SetUp();
/** Method and path of each request to the service since the last look. */
const asked: string[] = [];

afterEach(() => setUp.end());

/** A service that notes what it is asked, and a warehouse that mirrors it. */
async function openMirrored(isEmbedded = false): Promise<Place> {
  asked.length = 0;
  const place = await setUp.step('opening the place', openPlace, (opened) => opened.close());
  const receive = ({method, path}: {readonly method: string; readonly path: string}) => {
    asked.push(`${method} ${path}`);
    return false;
  };
  const proxy = await setUp.step(
    'opening the proxy',
    () => openProxy(place.service.url, {receive}),
    (opened) => opened.close(),
  );
  const env = {...place.env, FIELDMIRROR_API_URL: proxy.url};
  if (!isEmbedded) return {...place, env};
  return {
    ...place,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => name !== 'DATABASE_URL')),
  };
}

async function write(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`UPDATE warehouse.customers SET fax = '555-0100' WHERE customer_number = 1`);
    await client.query(`INSERT INTO warehouse.tasks (name) VALUES ('Order a ladder')`);
  });
}

async function statesOf(url: string): Promise<unknown[]> {
  const read = 'SELECT operation, state FROM sync.changes ORDER BY change_id';
  return await withClient(url, async (client) => (await client.query(read)).rows);
}

/** Runs a verb with a line on its standard input. */
async function typeInto(args: readonly string[], line: string, env: Env): Promise<Ended> {
  const command = `printf '%s\\n' "$LINE" | exec "$NODE" "$MAIN" ${args.join(' ')}`;
  return await startProgram(['sh', '-c', command], {
    ...env,
    LINE: line,
    NODE: process.execPath,
    MAIN: main,
  }).ended;
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);
const done = [
  {operation: 'update', state: 'done'},
  {operation: 'create', state: 'done'},
];

const feedEnd = async (url: string): Promise<string> =>
  await withClient(
    url,
    async (client) => (await client.query('SELECT sync.feed_end() AS cursor')).rows[0].cursor,
  );
const follow = async (url: string, cursor: string): Promise<unknown[]> =>
  await withClient(
    url,
    async (client) => (await client.query('SELECT * FROM sync.feed($1)', [cursor])).rows,
  );

test('a restored copy sends nothing beside its original, and works after it is claimed', {
  timeout: 240_000,
}, async () => {
  const place = await openMirrored();
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
  await write(place.databaseUrl);
  // Alerts are looked for where somebody is told.
  expect(
    await runCommand(['alerts', 'add', 'ops', '--email', 'ops@example.com'], place.env),
  ).toMatchObject({
    code: 0,
  });
  const copy = await setUp.step(
    'restoring a copy',
    () => createDatabase(nameOf(place.databaseUrl)),
    (restored) => restored.drop(),
  );
  const env = {...place.env, DATABASE_URL: copy.url};
  const suspected = /may be a copy: workers began in another database/;
  const cursor = await feedEnd(copy.url);
  asked.length = 0;

  for (const verb of [['sync'], ['push'], ['start', '--once']]) {
    const refused = await runCommand(verb, env);
    expect(refused, String(verb)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(suspected),
    });
  }
  const running = startCommand(['start', '--no-http'], env);
  try {
    await running.prints(/Running\. Ctrl-C/);
    const seen = () =>
      withClient(copy.url, async (client) => {
        const {rows} = await client.query(
          `SELECT (SELECT count(*)::int FROM sync.workers) AS workers,
            ARRAY(SELECT cause FROM sync.alerts WHERE cause = 'copy') AS alerts`,
        );
        return rows[0];
      });
    await expect.poll(seen, {timeout: 30_000}).toEqual({workers: 1, alerts: ['copy']});
    expect(await runCommand(['status'], env)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(suspected),
    });
    expect(await runCommand(['installation', 'show'], env)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(suspected),
    });
    expect(asked).toEqual([]);
    const examined = await runCommand(['doctor'], env);
    expect(examined.stdout.replace(/\s+/g, ' ')).toMatch(
      /bad installation: .*may be a copy.*fieldmirror installation claim/,
    );

    expect(await runCommand(['push'], place.env)).toMatchObject({code: 0});
    expect(await statesOf(place.databaseUrl)).toEqual(done);
    expect(asked.filter((request) => request.startsWith('POST'))).toHaveLength(1);
    asked.length = 0;

    const slip = await typeInto(['installation', 'claim'], 'warehouse', env);
    expect(slip).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/expected test_\w+ to be typed back/),
    });
    const claimed = await typeInto(['installation', 'claim'], nameOf(copy.url), env);
    expect(claimed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/1 create is held.*: 2$/m),
    });
    await expect(follow(copy.url, cursor)).rejects.toThrow(/expected one of this warehouse/);
    const resting = [done[0], {operation: 'create', state: 'held'}];
    await expect.poll(() => statesOf(copy.url), {timeout: 30_000}).toEqual(resting);
    expect(asked.filter((request) => !request.startsWith('GET'))).toEqual([]);
    expect(await runCommand(['installation', 'show'], env)).toMatchObject({code: 0});
  } finally {
    running.process.kill('SIGINT');
    await running.ended;
  }
});

test('a database that was moved while no worker ran also sends its creates', {
  timeout: 180_000,
}, async () => {
  const place = await openMirrored();
  expect(await runCommand(['sync', 'tasks'], place.env)).toMatchObject({code: 0});
  await withClient(place.databaseUrl, (client) =>
    client.query(`INSERT INTO warehouse.tasks (name) VALUES ('Order a ladder')`),
  );
  const copy = await setUp.step(
    'moving it',
    () => createDatabase(nameOf(place.databaseUrl)),
    (moved) => moved.drop(),
  );
  const env = {...place.env, DATABASE_URL: copy.url};
  const cursor = await feedEnd(copy.url);
  const claimed = await typeInto(['installation', 'claim', '--moved'], nameOf(copy.url), env);
  expect(claimed).toMatchObject({code: 0, stdout: expect.not.stringMatching(/held/)});
  expect(await follow(copy.url, cursor)).toBeDefined();
  expect(await runCommand(['push'], env)).toMatchObject({code: 0});
  expect(await statesOf(copy.url)).toEqual([{operation: 'create', state: 'done'}]);
});

test('a copied data folder sends nothing; its original continues after a restart', {
  timeout: 240_000,
}, async () => {
  const {env: own} = await openMirrored(true);
  const folder = await setUp.step(
    'making a folder',
    () => mkdtemp(join(temporaryFolder(), 'fieldmirror-copied-')),
    (made) => rm(made, {recursive: true, force: true}),
  );
  const homes = {original: join(folder, 'original'), copy: join(folder, 'copy')};
  const original = {...own, FIELDMIRROR_HOME: homes.original};
  const copied = {...own, FIELDMIRROR_HOME: homes.copy};
  expect(await runCommand(['sync', 'customers', 'tasks'], original)).toMatchObject({code: 0});
  execFileSync('cp', ['-a', homes.original, homes.copy]);
  asked.length = 0;

  const suspected = /may be a copy: its server was started after workers saw it last/;
  const refused = await runCommand(['push'], copied);
  expect(refused).toMatchObject({code: 3, stderr: expect.stringMatching(suspected)});
  expect(await runCommand(['installation', 'show'], copied)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(suspected),
  });
  expect(asked).toEqual([]);
  expect(await runCommand(['push'], original)).toMatchObject({code: 0});
  expect(await typeInto(['installation', 'claim'], 'warehouse', copied)).toMatchObject({code: 0});
  expect(await runCommand(['push'], copied)).toMatchObject({code: 0});
});
