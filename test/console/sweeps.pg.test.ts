// The Sweeps pages: the list, one sweep with its evidence, and the two things that a person can do.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {pauseAccount, resumeAccount} from '../../src/accounts/accounts.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
let stopped: string;
beforeAll(async () => {
  place = await openPlace();
  const {accountId} = place.account;
  const ended = `now() - interval '1 minute'`;
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      records, requests, updated, evidence)
     SELECT $1, 'jobs', 'full', 'schedule', 'certified', now() - interval '1 day' * at,
       now() - interval '1 day' * at + interval '2 seconds',
            3000 + at, 226, 5, '{"firstPass": {"numbers": 3001, "lastPage": 101, "endedBy": '
              '"empty-page"}}'
       FROM generate_series(60, 1, -1) AS at`,
    [accountId],
  );
  const {rows} = await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      records, reasons)
     VALUES ($1, 'jobs', 'full', 'schedule', 'stopped', ${ended}, now(), 900,
       '{"2,100 of 3,000 rows would go"}') RETURNING sweep_id`,
    [accountId],
  );
  stopped = rows[0].sweep_id;
  await place.pool.query(
    `INSERT INTO sync.tombstones
       (account_id, stream, sweep_id, number, status, message, requested_at)
     VALUES ($1, 'jobs', $2, 11, 400, 'Invalid <i>job</i>.', now())`,
    [accountId, stopped],
  );
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
     VALUES ($1, 'tasks', 'full', 'schedule', 'certified', now(), now())`,
    [place.stranger.accountId],
  );
});
afterAll(() => place?.close());

test('the list shows the newest sweeps first, fifty a page, and links to older ones', async () => {
  const person = await place.person({role: 'viewer'});
  const first = await person.json('/sweeps');
  expect(first.sweeps).toHaveLength(50);
  expect(first.sweeps[0].sweepId).toBe(stopped);
  const last = first.sweeps.at(-1).sweepId;
  expect((await person.get('/sweeps')).text).toContain(`before=${last}`);
  const second = await person.json(`/sweeps?before=${last}`);
  expect([second.sweeps.length, second.isLast]).toEqual([11, true]);
});

test('filters are read from the URL, and an unknown value filters nothing', async () => {
  const person = await place.person();
  expect((await person.json('/sweeps?state=stopped')).sweeps).toHaveLength(1);
  expect((await person.json('/sweeps?stream=employees')).sweeps).toHaveLength(0);
  expect(
    (await person.json(`/sweeps?state=${encodeURIComponent("x' OR true")}`)).sweeps,
  ).toHaveLength(50);
});

test('quiet runs are grouped into one line a day, with a link to all of them', async () => {
  await place.pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, window_name, requested_by, state,
       started_at, ended_at, requests, updated)
     SELECT $1, 'jobs', 'window', 'recent', 'schedule', 'refreshed', at, at + interval '3 seconds',
            2, CASE WHEN at = now() - interval '5 days' THEN 1 ELSE 0 END
       FROM generate_series(now() - interval '7 days', now(), interval '10 minutes') AS at`,
    [place.account.accountId],
  );
  const person = await place.person();
  const {sweeps, quiet} = await person.json('/sweeps?mode=window');
  // One of them changed a row: that one is not quiet.
  expect(sweeps).toMatchObject([{counts: {updated: 1}}]);
  const counts = quiet.map(({count}: {count: number}) => count);
  expect([7, 8, 9]).toContain(counts.length);
  expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(7 * 144);
  expect(quiet[1]).toMatchObject({
    targets: ['jobs recent'],
    ms: 3_000,
    requests: 2 * counts[1],
  });
  const {text} = await person.get('/sweeps?mode=window');
  expect(text).toContain(`${counts[1]} quiet runs of ${quiet[1].day}`);
  const links = [...text.matchAll(/href="([^"]+quiet=each[^"]*)"/g)].map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  );
  expect(links).toHaveLength(quiet.length);
  const each = await person.json(links[1] ?? '');
  expect(each.sweeps).toHaveLength(50);
  expect(each.sweeps[0].sweepId).toBe(quiet[1].sweepId);
  // With the others the page is full, and the next one goes on behind it without a line twice.
  // Another address than above, whose story may be a second old.
  const first = await person.json('/sweeps?of=all');
  const lines = [...first.sweeps, ...first.quiet].map(({sweepId}) => BigInt(sweepId));
  expect(lines).toHaveLength(50);
  const last = lines.toSorted((one, other) => (one < other ? -1 : 1))[0];
  const next = await person.json(`/sweeps?before=${last}`);
  expect([first, next].flatMap((page) => page.quiet)).toHaveLength(quiet.length);
  await place.pool.query(`DELETE FROM sync.sweeps WHERE mode = 'window'`);
});

test('a sweep of another account answers 404', async () => {
  const person = await place.person();
  const {rows} = await place.pool.query(
    `SELECT max(sweep_id) AS id FROM sync.sweeps WHERE stream = 'tasks'`,
  );
  const page = await person.get(`/sweeps/${rows[0].id}`);
  expect(page.status).toBe(404);
  expect(page.text).toContain(`sweep ${stopped} of jobs, stopped`);
  expect((await person.get('/sweeps/0;drop')).status).toBe(404);
});

test('a sweep shows its verdict, its evidence and the usual figures', async () => {
  const {text} = await (await place.person()).get(`/sweeps/${stopped}`);
  expect(text).toContain('2,100 of 3,000 rows would go');
  expect(text).toContain('usually 3,005');
  expect(text).toContain('400 Invalid &lt;i&gt;job&lt;/i&gt;.');
  expect(text).toContain('Mark 1 row as deleted');
  const {sweep} = await (await place.person()).json(`/sweeps/${stopped}`);
  expect(sweep).toMatchObject({state: 'stopped', stream: 'jobs'});
});

test('pressing the button twice requests only one sweep', async () => {
  const person = await place.person();
  const [one, other] = [
    await person.post('/accounts/acme/sweep', {stream: 'jobs'}),
    await person.post('/accounts/acme/sweep', {stream: 'jobs'}),
  ];
  expect(one.headers.get('location')).toBe(other.headers.get('location'));
  const {rows} = await place.pool.query(`SELECT state FROM sync.sweeps WHERE state = 'due'`);
  expect(rows).toEqual([{state: 'due'}]);
  expect((await person.post('/accounts/acme/sweep', {stream: 'invoices'})).status).toBe(422);
  await place.pool.query(`DELETE FROM sync.sweeps WHERE state = 'due'`);
});

test('no sweep of an account that is paused is requested', async () => {
  const {accountId} = place.account;
  await pauseAccount(place.pool, accountId, null);
  const {status, text} = await (await place.person()).post('/accounts/acme/sweep', {
    stream: 'tasks',
  });
  await resumeAccount(place.pool, accountId);
  expect(status).toBe(422);
  expect(text).toContain('account acme is paused, so nothing is requested; resume it first');
  const {rows} = await place.pool.query(`SELECT state FROM sync.sweeps WHERE state = 'due'`);
  expect(rows).toEqual([]);
});

test('a stopped sweep is approved once, under a name; a second approval is refused', async () => {
  const viewer = await place.person({role: 'viewer'});
  expect((await viewer.get(`/sweeps/${stopped}`)).text).not.toContain('/approve');
  expect((await viewer.post(`/sweeps/${stopped}/approve`)).status).toBe(403);
  const person = await place.person();
  expect((await person.post(`/sweeps/${stopped}/approve`)).status).toBe(303);
  const {rows} = await place.pool.query(
    'SELECT state, stage, approved_by FROM sync.sweeps WHERE sweep_id = $1',
    [stopped],
  );
  expect(rows[0]).toMatchObject({
    state: 'due',
    stage: 'approved',
    approved_by: expect.stringMatching(/^person-/),
  });
  const late = await person.post(`/sweeps/${stopped}/approve`);
  expect(late.status).toBe(422);
  expect(late.text).toContain('is due: only a stopped one waits for approval');
  const {rows: entries} = await place.pool.query(
    `SELECT before, after FROM sync.audit WHERE action = 'sweeps.approve'`,
  );
  expect(entries).toMatchObject([{before: {state: 'stopped'}, after: {state: 'due'}}]);
});
