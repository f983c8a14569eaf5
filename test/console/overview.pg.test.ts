// The Overview page: is all well, and what must somebody do.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {pauseAccount} from '../../src/accounts/accounts.ts';
import {describeOverview} from '../../src/console/overview-page.ts';
import {type ChangesPlace, openPlace} from './changes-place.ts';

let place: ChangesPlace;
beforeEach(async () => {
  place = await openPlace();
  for (const stream of ['customers', 'employees', 'jobs', 'tasks']) {
    await place.pool.query(
      `INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
       VALUES ($1, $2 || ' nightly', $2, 'full', 86400000, now() + interval '3 hours')`,
      [place.account.accountId, stream],
    );
    await sweep(stream, '2 hours');
  }
});
afterEach(() => place?.close());

async function sweep(stream: string, ago: string, state = 'certified'): Promise<void> {
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      records, updated, error, reasons)
     VALUES ($1, $2, 'full', 'schedule', $4, now() - $3::interval, now() - $3::interval, 900, 7,
             CASE $4 WHEN 'failed' THEN 'the service is away' END,
               CASE $4 WHEN 'uncertified' THEN '{"the list moved"}'::text[] ELSE '{}' END)`,
    [place.account.accountId, stream, ago, state],
  );
}

test('a stream that was certified within its target is fresh', async () => {
  const {streams} = await (await place.person()).json('/');
  expect(streams).toHaveLength(4);
  expect(streams[0]).toMatchObject({
    account: 'acme',
    stream: 'employees',
    isFresh: true,
    targetMs: 172_800_000,
  });
});

test('a stream with a window schedule shows its promise and whether it is kept', async () => {
  await place.pool.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, window_name, every_ms, next_due_at)
     VALUES ($1, 'customers fresh', 'customers', 'window', 'whole_list', 3600000, now())`,
    [place.account.accountId],
  );
  const person = await place.person();
  const {streams} = await person.json('/');
  const told = 'read as a whole never yet, 1 h is promised: the first sweep is due';
  expect(
    streams.map(({stream, promise}: {stream: string; promise: string | null}) => [stream, promise]),
  ).toEqual(
    expect.arrayContaining([
      ['customers', told],
      ['jobs', null],
    ]),
  );
  expect((await person.get('/')).text).toContain(`2 days<small>${told}</small>`);
});

test('a stream that was certified too long ago is not fresh, and is named first', async () => {
  await place.pool.query(
    `UPDATE sync.sweeps SET started_at = now() - interval '3 days',
      ended_at = now() - interval '3 days' WHERE stream = 'jobs'`,
  );
  const {sentence, streams} = await (await place.person()).json('/');
  expect(sentence).toMatch(/^Not fresh: jobs; /);
  expect(streams.filter(({isFresh}: {isFresh: boolean}) => !isFresh)).toMatchObject([
    {stream: 'jobs'},
  ]);
});

test('problems that need a person are listed with links to them', async () => {
  await sweep('tasks', '1 minute', 'failed');
  const id = await place.edit(1, `phone_number = '1'`);
  await place.putInConflict(id, {phone_number: '2'});
  const person = await place.person();
  const {problems} = await person.json('/');
  expect(problems).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({
        kind: 'failed',
        stream: 'tasks',
        text: expect.stringContaining('the service is away'),
      }),
      expect.objectContaining({kind: 'change-conflict', account: 'acme'}),
    ]),
  );
  const {text} = await person.get('/');
  expect(text).toContain('href="/sweeps?mode=full&amp;state=failed&amp;stream=tasks"');
  expect(text).toContain('href="/changes?state=needy"');
  expect(text).toContain('class="banner bad');
  expect(text).toContain('Acme: phone number');
  expect(text).toContain(`<a class="button" href="/changes/${id}">`);
  const masked = await place.person({masks: true});
  expect((await masked.get('/')).text).not.toContain('Acme');
});

test('a healthy mirror shows a green banner and a tile for each stream', async () => {
  const {text} = await (await place.person()).get('/');
  expect(text).toContain('class="banner good');
  expect(text).toContain('All four streams are fresh; nothing needs you.');
  expect(text.match(/<p class="figure">900 /g)).toHaveLength(4);
});

test('a tile has the rows that are here, also if the last sweep stopped', async () => {
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      records, rows, reasons)
     VALUES ($1, 'jobs', 'full', 'schedule', 'stopped', now(), now(), 300, 900, '{many}')`,
    [place.account.accountId],
  );
  const {streams} = await (await place.person()).json('/');
  expect(streams.find(({stream}: {stream: string}) => stream === 'jobs').rows).toBe(900);
});

test('a paused account is not shown as well, fresh or in progress', async () => {
  await place.edit(1, `phone_number = '1'`);
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state)
      VALUES ($1, 'jobs', 'full', 'command', 'due')`,
    [place.account.accountId],
  );
  await pauseAccount(place.pool, place.account.accountId, 'the service moves');
  const person = await place.person();
  const {sentence, streams, underWay} = await person.json('/');
  expect(sentence).toBe('Paused: acme. All four streams are fresh; nothing else needs you.');
  expect(streams.map((stream: {underWay: unknown}) => stream.underWay)).toEqual(
    Array(4).fill(null),
  );
  expect(underWay).toEqual([]);
  const {text} = await person.get('/');
  expect(text).toContain('class="banner bad');
  expect(text.match(/paused<\/span>/g)).toHaveLength(4);
  expect(text).not.toContain('fresh</span>');
});

test('reads and writes of the last day are counted by the hour in which they ended', async () => {
  const id = await place.edit(1, `phone_number = '1'`);
  await place.set(id, `state = 'done', settled_at = now()`);
  const {hours} = await (await place.person()).json('/');
  expect(hours).toHaveLength(24);
  const sum = (name: string) =>
    hours.reduce((total: number, hour: Record<string, number>) => total + (hour[name] ?? 0), 0);
  expect([sum('read'), sum('changed'), sum('done')]).toEqual([3600, 28, 1]);
  expect(hours.at(-1)).toMatchObject({done: 1});
});

test('a nightly run shows the last verdict of its day', async () => {
  await sweep('jobs', '1 hour', 'uncertified');
  const {nights} = await (await place.person()).json('/');
  expect(nights.filter(({stream}: {stream: string}) => stream === 'jobs').at(-1)).toMatchObject({
    state: 'uncertified',
  });
});

test('a person bound to one account sees nothing of another', async () => {
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, error, ended_at)
      VALUES ($1, 'jobs', 'full', 'schedule', 'failed', 'secret of another', now())`,
    [place.stranger.accountId],
  );
  const {text} = await (await place.person()).get('/');
  expect(text).not.toContain('secret of another');
});

const streamAge = (
  age: Partial<Parameters<typeof describeOverview>[0][number]>,
): Parameters<typeof describeOverview>[0][number] => ({
  stream: 'jobs',
  isFresh: false,
  provenAt: null,
  underWay: null,
  ...age,
});

test.each([
  [[], 0, 'Nothing is mirrored yet; nothing needs you.'],
  [[true], 0, 'The stream is fresh; nothing needs you.'],
  [[true, true, true, true], 1, 'All four streams are fresh; one thing needs you.'],
  [[true, false], 0, 'Not fresh: jobs; nothing else needs you.'],
  [[true, false], 3, 'Not fresh: jobs; 3 things need you.'],
])('for fresh streams %j and %i problems the summary is: %s', (fresh, problems, sentence) => {
  const streams = fresh.map((isFresh) => streamAge({isFresh, provenAt: 'long ago'}));
  expect(describeOverview(streams, Array.from({length: problems}))).toBe(sentence);
});

test('a first sweep that is in progress is no fault; one that has ended without proof is', () => {
  const first = streamAge({underWay: 'running'});
  const proven = streamAge({isFresh: true, provenAt: 'today', stream: 'tasks'});
  expect(describeOverview([first, proven], [])).toBe(
    'First sweep in progress: jobs; nothing needs you.',
  );
  expect(describeOverview([streamAge({})], [])).toBe('Not fresh: jobs; nothing else needs you.');
  const old = streamAge({provenAt: 'long ago', underWay: 'running'});
  expect(describeOverview([old], [])).toBe('Not fresh: jobs; nothing else needs you.');
});

test('the first minutes show no alarm', async () => {
  await place.pool.query(
    `UPDATE sync.sweeps SET state = 'due', started_at = NULL, ended_at = NULL`,
  );
  const {text} = await (await place.person()).get('/');
  expect(text).toMatch(/First sweep in progress: (\w+, ){3}\w+; nothing needs you\./);
  expect(text).toContain('class="banner good');
});
