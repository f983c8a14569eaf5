// Ways to take a live record for a deleted one (docs/traps.md "Absence"), each as others met it.
// Sweeps that resume, or only mark rows.

import {afterEach, describe, expect, test} from 'vitest';
import {deleteRowLimit, writeRowLimit} from '../../src/accounts/settings.ts';
import {FatalError} from '../../src/core/errors.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {listOwnedTables} from '../../src/streams/stream.ts';
import {edgeWidth} from '../../src/sweeps/evidence.ts';
import {writeTombstones} from '../../src/sweeps/tombstones.ts';
import {inPages, openScript, range, type ScriptPlace} from '../labs/adversary-place.ts';
import {refuse, words} from '../labs/adversary-script.ts';

let place: ScriptPlace;

afterEach(async () => await place.close());

/** Opens a place whose warehouse holds so many jobs, each with a note. */
async function openHeld(count: number): Promise<ScriptPlace> {
  const opened = await openScript(inPages(range(1, count), 30));
  opened.script.more = (number) =>
    `<notes type="array"><note><id type="integer">${number + 5_000}</id>` +
    '<note>Note</note></note></notes>';
  expect(await opened.sweep()).toMatchObject({outcome: 'ended', state: 'certified'});
  opened.script.questions.length = 0;
  return opened;
}

/** Leaves only these in the list and under their numbers from now on. */
function leave(numbers: readonly number[]): void {
  place.script.pages = inPages(numbers, 30);
  place.script.known = numbers;
}

const asked = () =>
  place.script.questions.filter(({kind}) => kind === 'record').map(({number}) => number);

async function tombstones(): Promise<Record<string, unknown>[]> {
  const {rows} = await place.world.pool.query(
    `SELECT number::integer, status, message, requested_at IS NOT NULL AS asked,
      written_at IS NOT NULL AS written,
            undone_at IS NOT NULL AS undone
       FROM sync.tombstones ORDER BY sync.tombstones.sweep_id, sync.tombstones.number`,
  );
  return rows;
}

describe('evidence of a deletion', () => {
  test.each([
    ['400 Invalid job.', 400, words('Invalid job.')],
    ['404', 404, words('Not found')],
    ['410', 410, ''],
  ])(
    'a missing record that the service answers with %s is marked deleted, with the evidence',
    async (_, status, body) => {
      place = await openHeld(40);
      leave([...range(1, 19), ...range(21, 40)]);
      place.script.twist = ({kind, number}, response) =>
        kind === 'record' && number === 20 && refuse(response, status, {body});
      expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 1}});
      expect(await place.deleted()).toEqual([20]);
      expect(await tombstones()).toMatchObject([
        {number: 20, status, asked: true, written: true, undone: false},
      ]);
      const {rows} = await place.world.pool.query(
        'SELECT job_number::integer FROM warehouse.job_notes WHERE _deleted_at IS NOT NULL',
      );
      expect(rows).toEqual([{job_number: 20}]);
    },
  );

  const html = '<html><body>Not here</body></html>';
  test.each([
    ['401', 401, words('Invalid Username, Account or password.'), 'application/xml'],
    ['403', 403, words('Forbidden'), 'application/xml'],
    ['500', 500, '', 'application/xml'],
    ['503', 503, '', 'application/xml'],
    ['429', 429, '', 'application/xml'],
    ['a redirect', 302, '', 'text/html'],
    ['a page of HTML as a success', 200, html, 'text/html'],
    ["a proxy's HTML with 404", 404, html, 'text/html'],
    ["a proxy's HTML with 410", 410, html, 'text/html'],
    ['HTML with 400', 400, html, 'text/html'],
    ['an empty success', 200, '', 'application/xml'],
    ['204', 204, '', 'application/xml'],
    ['400 for another reason', 400, words('Invalid page.'), 'application/xml'],
    ['400 in plain text', 400, 'Invalid job.', 'application/xml'],
    [
      '400 Invalid customer., although a job was requested',
      400,
      words('Invalid customer.'),
      'application/xml',
    ],
    [
      '400 with one error too many',
      400,
      words('Invalid job.</error>\n  <error>Try again'),
      'application/xml',
    ],
    [
      'an empty list',
      200,
      '<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array"/>\n',
      'application/xml',
    ],
  ])(
    '%s as the answer for a missing record marks nothing and certifies nothing',
    async (_, status, body, contentType) => {
      place = await openHeld(40);
      leave([...range(1, 19), ...range(21, 40)]);
      place.script.twist = ({kind}, response) =>
        kind === 'record' && refuse(response, status, {body, contentType});
      expect(await place.sweep()).not.toMatchObject({state: 'certified'});
      expect(asked()).toContain(20);
      expect(await place.deleted()).toEqual([]);
      expect((await tombstones()).filter(({written}) => written === true)).toEqual([]);
    },
  );

  test('an answer with the record of another number is no evidence', async () => {
    place = await openHeld(40);
    leave([...range(1, 19), ...range(21, 40)]);
    place.script.twist = ({kind}, response) =>
      kind === 'record' &&
      refuse(response, 200, {
        body:
          '<?xml version="1.0" encoding="UTF-8"?>\n<job><id type="integer">1000021</id>' +
          '<job-number type="integer">21</job-number><name>Job 21</name></job>\n',
      });
    expect(await place.sweep()).not.toMatchObject({state: 'certified'});
    expect(await place.deleted()).toEqual([]);
  });

  test('records that a filter of the list hides are requested, read, and not marked', async () => {
    place = await openHeld(40);
    // Here and there: ten in a row at the end would look like a list that ends at a cap.
    leave(range(1, 40).filter((number) => number % 4 !== 1));
    place.script.known = range(1, 40);
    place.script.more = () => '<status>canceled</status>';
    const asked = 10 + edgeWidth;
    expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 0, asked}});
    expect(await place.live()).toEqual(range(1, 40));
    const {rows} = await place.world.pool.query(
      `SELECT count(*)::integer FROM warehouse.jobs WHERE status = 'canceled'`,
    );
    expect(rows).toEqual([{count: 40}]);
  });
});

describe('the limit of deletions', () => {
  test('a sweep marks as many rows as the limit allows', async () => {
    place = await openHeld(120);
    leave(range(13, 120));
    expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 12}});
    expect(await place.deleted()).toEqual(range(1, 12));
  });

  test('a role that sees half of the list stops the sweep, and nothing is marked', async () => {
    place = await openHeld(120);
    leave(range(61, 120));
    expect(await place.sweep()).toMatchObject({
      outcome: 'ended',
      state: 'stopped',
      counts: {tombstoned: 0},
    });
    expect(await place.live()).toEqual(range(1, 120));
    expect(await place.reasons()).not.toEqual([]);
    const listed = await tombstones();
    expect(listed.map(({number}) => number)).toEqual(range(1, 60));
    expect(listed.filter(({written}) => written === true)).toEqual([]);
  });

  test('one row more than the limit stops the sweep, and nothing is marked', async () => {
    place = await openHeld(120);
    leave(range(14, 120));
    expect(await place.sweep()).toMatchObject({state: 'stopped', counts: {tombstoned: 0}});
    expect(await place.deleted()).toEqual([]);
  });

  test('24 of 40 records that disappear are too many, though they are fewer than 50', async () => {
    place = await openHeld(40);
    leave(range(25, 40));
    expect(await place.sweep()).toMatchObject({state: 'stopped', counts: {tombstoned: 0}});
    expect(await place.live()).toEqual(range(1, 40));
  });

  test('a limit set for the stream of the account replaces the default', async () => {
    place = await openHeld(40);
    const setting = {account: place.world.account.name, of: 'jobs', limit: {percent: 60}};
    await writeRowLimit(place.world.pool, 'deletions', setting);
    leave(range(25, 40));
    expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 24}});
    await writeRowLimit(place.world.pool, 'deletions', {...setting, limit: {rows: 0}});
    leave(range(26, 40));
    expect(await place.sweep()).toMatchObject({state: 'stopped', counts: {tombstoned: 0}});
    await deleteRowLimit(place.world.pool, 'deletions', setting);
    expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 1}});
  });

  test('a suddenly empty list marks nothing, and every row is listed for a person', async () => {
    place = await openHeld(20);
    leave([]);
    expect(await place.sweep()).toMatchObject({outcome: 'ended', state: 'stopped'});
    expect(asked()).toEqual([]);
    expect(await place.live()).toEqual(range(1, 20));
    const listed = await tombstones();
    expect(listed.map(({number}) => number)).toEqual(range(1, 20));
    expect(listed.filter(({written}) => written === true)).toEqual([]);
  });

  test('a suddenly empty list is not believed even for a single row', async () => {
    place = await openHeld(1);
    leave([]);
    expect(await place.sweep()).toMatchObject({outcome: 'ended', state: 'stopped'});
    expect(asked()).toEqual([]);
    expect(await place.live()).toEqual([1]);
  });

  test('an empty list is certified if no row is live', async () => {
    place = await openHeld(0);
    expect(await place.sweep()).toMatchObject({state: 'certified'});
  });

  test('after a stopped sweep, a complete list is certified, and nothing is marked', async () => {
    place = await openHeld(20);
    leave([]);
    await place.sweep();
    leave(range(1, 20));
    expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 0}});
    expect(await place.deleted()).toEqual([]);
  });
});

describe('sweeps that may not delete', () => {
  test('Nango trackDeletesEnd: a sweep that fails half way marks nothing', async () => {
    place = await openHeld(70);
    leave(range(11, 70));
    place.script.twist = ({kind, number}, response) =>
      kind === 'page' && number === 2 && refuse(response, 500, {body: ''});
    const outcomes: string[] = [];
    for (let tries = 0; tries < 5; tries++) outcomes.push((await place.sweep()).outcome);
    expect(outcomes).toEqual(['postponed', 'postponed', 'postponed', 'postponed', 'failed']);
    expect(await place.deleted()).toEqual([]);
    expect(await tombstones()).toEqual([]);
  });

  test('a sweep whose token is refused midway marks nothing', async () => {
    place = await openHeld(70);
    leave(range(11, 70));
    place.script.twist = ({kind}, response) =>
      kind === 'keys' &&
      refuse(response, 401, {body: words('Invalid Username, Account or password.')});
    expect(await place.sweep()).toMatchObject({outcome: 'failed', error: expect.any(FatalError)});
    expect(await place.deleted()).toEqual([]);
  });

  test('a window neither requests nor marks the records that its filter hides', async () => {
    place = await openHeld(40);
    leave(range(1, 3));
    expect(await place.world.sweep('jobs', {windowName: 'in_progress'})).toMatchObject({
      state: 'refreshed',
    });
    expect(asked()).toEqual([]);
    expect(await place.live()).toEqual(range(1, 40));
  });
});

describe('records that come back', () => {
  test.each([
    ['before its record was requested is marked', '+1 ms', 1],
    ['at the time when its record was requested is marked', '0 ms', 1],
    ['after its record was requested has returned, and stays', '-1 ms', 0],
  ])('a row that was written %s', async (_, asked, marked) => {
    place = await openHeld(3);
    const {pool} = place.world;
    const {rows} = await pool.query<{sweep_id: string; account_id: string}>(
      `INSERT INTO sync.tombstones
         (account_id, stream, sweep_id, number, status, message, requested_at)
       SELECT account_id, 'jobs', _sweep_id, job_number, 400, 'Invalid job.',
         _changed_at + $1::interval
         FROM warehouse.jobs WHERE job_number = 2 RETURNING sweep_id, account_id`,
      [asked],
    );
    const [{sweep_id: sweepId = '', account_id: accountId = ''} = {}] = rows;
    const family = {table: jobs.table, owned: listOwnedTables(jobs)};
    const counts = await inSweepTransaction(pool, (client) =>
      writeTombstones(client, family, {sweepId, accountId}),
    );
    expect(counts.tombstoned).toBe(marked);
    expect(await place.deleted()).toEqual(marked === 1 ? [2] : []);
  });

  test('a missing record that is listed again before the sweep resumes is not marked', async () => {
    place = await openScript(inPages(range(1, 70), 30));
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    const without = [...range(1, 4), ...range(6, 70), 72];
    place.script.pages = inPages(without, 30);
    place.script.known = without;
    // 5 is looked up; then the look for the new gap breaks off.
    place.script.twist = ({kind, number}, response) =>
      kind === 'record' && number === 71 && refuse(response, 500, {body: ''});
    expect(await place.sweep()).toMatchObject({outcome: 'postponed'});
    place.script.keys = inPages([...range(1, 70), 72], 30);
    place.script.known = [...range(1, 70), 72];
    place.script.twist = () => false;
    expect(await place.sweep()).toMatchObject({outcome: 'ended', counts: {tombstoned: 0}});
    expect(await place.deleted()).toEqual([]);
  });

  test('Fivetran soft delete: a record that is listed again lives again', async () => {
    place = await openHeld(40);
    leave([...range(1, 19), ...range(21, 40)]);
    await place.sweep();
    expect(await place.deleted()).toEqual([20]);
    leave(range(1, 40));
    expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 0}});
    expect(await place.live()).toEqual(range(1, 40));
    expect(await tombstones()).toMatchObject([{number: 20, written: true, undone: true}]);
    const {rows} = await place.world.pool.query(
      'SELECT job_number::integer FROM warehouse.job_notes WHERE _deleted_at IS NOT NULL',
    );
    expect(rows).toEqual([]);
    const versions = await place.world.pool.query(
      `SELECT _deleted_at IS NOT NULL AS deleted, valid_to IS NULL AS current
         FROM history.jobs WHERE job_number = 20 ORDER BY valid_from`,
    );
    expect(versions.rows).toEqual([
      {deleted: false, current: false},
      {deleted: true, current: false},
      {deleted: false, current: true},
    ]);
  });

  test('a record can be deleted again after it came back', async () => {
    place = await openHeld(40);
    const withoutIt = [...range(1, 19), ...range(21, 40)];
    for (const numbers of [withoutIt, range(1, 40), withoutIt]) {
      leave(numbers);
      expect(await place.sweep()).toMatchObject({state: 'certified'});
    }
    expect(await place.deleted()).toEqual([20]);
    expect(await tombstones()).toMatchObject([
      {number: 20, undone: true},
      {number: 20, undone: false},
    ]);
  });
});

test('a sweep that resumes after its first pass does not read the list again', async () => {
  place = await openScript(inPages(range(1, 70), 30));
  place.script.twist = ({kind}, response) => kind === 'keys' && refuse(response, 503, {body: ''});
  expect(await place.sweep()).toMatchObject({outcome: 'postponed'});
  place.script.questions.length = 0;
  place.script.twist = () => false;
  expect(await place.sweep()).toMatchObject({state: 'certified'});
  expect(place.script.questions.filter(({kind}) => kind === 'page')).toEqual([]);
  const {rows} = await place.world.pool.query(
    `SELECT evidence->'firstPass' AS pass, evidence->'sample' AS sample FROM sync.sweeps`,
  );
  expect(rows).toEqual([
    {
      pass: {lastPage: 4, endedBy: 'empty-page', numbers: 70},
      sample: {records: 0, altered: 0, isWhole: true},
    },
  ]);
});

test('a sweep that only marks a row deleted counts the filled shares again', async () => {
  place = await openScript(inPages(range(1, 61), 30));
  place.script.more = (number) =>
    `<custom-text1>${number === 61 ? 'Only here' : ''}</custom-text1>`;
  const readShare = async () =>
    (
      await place.world.pool.query(
        `SELECT filled_share FROM sync.fields WHERE field = 'custom_text1'`,
      )
    ).rows[0]?.filled_share;
  await place.sweep();
  expect(await place.sweep()).toMatchObject({counts: {known: 61, tombstoned: 0}});
  expect(await readShare()).toBeCloseTo(1 / 61, 5);
  leave(range(1, 60));
  expect(await place.sweep()).toMatchObject({counts: {known: 60, records: 60, tombstoned: 1}});
  expect(await readShare()).toBe(0);
});
