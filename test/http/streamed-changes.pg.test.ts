// Decisions told line by line while they are made, to a reader that may go away.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {revokeApiKey} from '../../src/accounts/access.ts';
import {decideInBatches} from '../../src/http/decide-changes.ts';
import type {AccountKey} from '../../src/http/keys.ts';
import {Turns} from '../../src/http/keys.ts';
import {HttpProblem, linesType} from '../../src/http/problem.ts';
import {writeNumbers} from '../../src/rows/number-set.ts';
import {
  ask,
  idsIn,
  listAudited,
  makePending,
  parseLines,
  readLines,
  whileHeld,
} from './lines-place.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeEach(async () => {
  place = await openPlace({lockTimeoutMs: 60_000});
});
afterEach(() => place?.close());

describe('a streamed POST /v1/changes/decide', () => {
  test('returns a line for each of ten thousand and the totals, and audits them all', async () => {
    const ids = await makePending(place, 10_000);
    const answer = await ask(place, {decision: 'hold', change_ids: ids.toReversed()});
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, linesType]);
    const lines = parseLines(await answer.text());
    expect(lines.pop()).toEqual({
      totals: {decided: 10_000, refused: 0, left: 0},
      is_cut: false,
      problem: null,
    });
    expect(lines).toEqual(ids.map((change_id) => ({change_id, state: 'held', refusal: null})));
    const entries = await listAudited(place);
    expect(entries).toHaveLength(20);
    expect(entries.map(({after}) => after.decided.held).join()).toBe(
      Array.from({length: 20}, (_, at) => writeNumbers(ids.slice(at * 500, at * 500 + 500))).join(),
    );
  });

  test('reports why a change was not decided, and cancels from the last to the first', async () => {
    const [one = '', two = ''] = await makePending(place, 501);
    await place.pool.query(
      `UPDATE sync.changes SET lease_until = now() + interval '1 h' WHERE change_id = $1`,
      [two],
    );
    const lines = parseLines(
      await (await ask(place, {decision: 'cancel', filter: {}, reason: 'typed twice'})).text(),
    );
    expect(lines).toHaveLength(502);
    expect(lines.slice(-3)).toEqual([
      expect.objectContaining({state: 'cancelled'}),
      {change_id: one, state: 'cancelled', refusal: null},
      {totals: {decided: 500, refused: 1, left: 0}, is_cut: false, problem: null},
    ]);
    expect(lines[0]).toEqual({
      change_id: two,
      state: null,
      refusal: expect.stringContaining('a worker has it'),
    });
    const unknown = parseLines(
      await (await ask(place, {decision: 'hold', change_ids: ['999999']})).text(),
    );
    expect(unknown).toEqual([
      {change_id: '999999', state: null, refusal: 'change 999999: no change has that number'},
      {totals: {decided: 0, refused: 1, left: 0}, is_cut: false, problem: null},
    ]);
    const none = parseLines(
      await (await ask(place, {decision: 'hold', filter: {batch: 'none'}})).text(),
    );
    expect(none).toEqual([
      {totals: {decided: 0, refused: 0, left: 0}, is_cut: false, problem: null},
    ]);
  });

  test('returns the decisions of a batch while the next batch is waiting', async () => {
    const ids = await makePending(place, 1_200);
    await whileHeld(place, ids[700], async (letGo) => {
      const answer = await ask(place, {decision: 'hold', change_ids: ids});
      const reader = answer.body?.getReader();
      if (reader === undefined) throw new TypeError('an answer has a body');
      expect((await readLines(reader, 500)).map(({change_id}) => change_id)).toEqual(
        ids.slice(0, 500),
      );
      expect(await idsIn(place, 'held')).toEqual(ids.slice(0, 500));
      expect(await listAudited(place)).toHaveLength(1);
      await letGo();
      const rest = await readLines(reader, 701);
      expect(rest.at(-1)).toMatchObject({totals: {decided: 1_200}, problem: null});
    });
  });

  test('finishes the running batch if the client disconnects, and no other batch', async () => {
    const ids = await makePending(place, 2_000);
    await whileHeld(place, ids[700], async (letGo) => {
      const leaving = new AbortController();
      const answer = await ask(
        place,
        {decision: 'hold', change_ids: ids},
        {signal: leaving.signal},
      );
      const reader = answer.body?.getReader();
      if (reader === undefined) throw new TypeError('an answer has a body');
      await readLines(reader, 500);
      leaving.abort();
      // The server has met the end of the connection when it answers the next.
      expect((await fetch(`${place.url}/livez`)).status).toBe(200);
      await letGo();
      await expect.poll(() => listAudited(place)).toHaveLength(2);
    });
    // A stream of the same key has its turns after those that wait: none of the first is left.
    const next = parseLines(
      await (await ask(place, {decision: 'release', change_ids: ids.slice(0, 1_000)})).text(),
    );
    expect(next.at(-1).totals.decided).toBe(1_000);
    expect(await idsIn(place, 'pending')).toEqual(ids);
    expect((await listAudited(place)).map(({after}) => after.verb)).toEqual([
      'hold',
      'hold',
      'release',
      'release',
    ]);
  });

  test('finishes the running batch if its key is revoked, and reports what is left', async () => {
    const ids = await makePending(place, 1_700);
    await whileHeld(place, ids[700], async (letGo) => {
      const answer = await ask(place, {decision: 'hold', change_ids: ids});
      const reader = answer.body?.getReader();
      if (reader === undefined) throw new TypeError('an answer has a body');
      await readLines(reader, 500);
      await revokeApiKey(place.pool, 'erp');
      await letGo();
      const rest = await readLines(reader, 1_201);
      expect(rest.at(-1)).toMatchObject({problem: {status: 401}});
      const {decided, left} = rest.at(-1).totals;
      expect(decided + left).toBe(1_700);
      expect(left).toBeGreaterThanOrEqual(700);
      expect(await idsIn(place, 'held')).toHaveLength(decided);
    });
    expect((await ask(place, {decision: 'hold', change_ids: ids})).status).toBe(401);
  });

  test('finishes the running batch if the server stops, and reports what is left', async () => {
    const ids = await makePending(place, 1_200);
    await whileHeld(place, ids[700], async (letGo) => {
      const reader = (await ask(place, {decision: 'hold', change_ids: ids})).body?.getReader();
      if (reader === undefined) throw new TypeError('an answer has a body');
      await readLines(reader, 500);
      const stopped = place.stop();
      await letGo();
      const lines = await readLines(reader, 501);
      expect(lines.at(-1)).toMatchObject({
        totals: {decided: 1_000, refused: 0, left: 200},
        problem: {status: 503, type: 'urn:fieldmirror:problem:stopping'},
      });
      await stopped;
      expect(await idsIn(place, 'pending')).toEqual(ids.slice(1_000));
    });
  });

  test('answers with the status of the problem if the first batch fails', async () => {
    const ids = await makePending(place, 2);
    await place.pool.query('ALTER TABLE sync.audit RENAME TO audit_elsewhere');
    const answer = await ask(place, {decision: 'hold', change_ids: ids});
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      503,
      'application/problem+json',
    ]);
    expect(await idsIn(place, 'pending')).toEqual(ids);
  });

  test.each([
    ['application/json', 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
    ['application/x-ndjson;q=0, */*', 'application/json; charset=utf-8'],
    ['application/json;q=0.5, Application/X-NDJSON; q=0.9', linesType],
  ])('answers Accept: %s with %s', async (accept, type) => {
    const [id] = await makePending(place, 1);
    const answer = await ask(place, {decision: 'hold', change_ids: [id]}, {accept});
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
    await answer.text();
  });
});

describe('decisions in batches', () => {
  const open = (ids: readonly string[], stop = new AbortController()) => {
    const key: AccountKey = {
      apiKeyId: '1',
      name: 'erp',
      role: 'operator',
      masks: false,
      timeZone: 'UTC',
      system: 'default',
      holdsDeletes: false,
      account: 'acme',
      createdAt: '',
      createdBy: 'test',
      lastUsedAt: null,
      revokedAt: null,
      accountId: place.account.accountId,
    };
    const explain = (error: unknown) =>
      error instanceof HttpProblem
        ? error
        : new HttpProblem(503, 'unavailable', {detail: String(error)});
    const turns = new Turns('writes', {atOnce: 1, waiting: 1});
    const deps = {pool: place.pool, turns, stop: stop.signal, explain};
    return decideInBatches(deps, key, {
      body: {decision: 'hold', change_ids: [...ids]},
      address: '127.0.0.1',
    });
  };

  test('end with the problem of a batch that failed, and how many are left', async () => {
    const ids = await makePending(place, 1_200);
    const batches = open(ids);
    expect((await batches.next()).value).toHaveLength(500);
    await place.pool.query('ALTER TABLE sync.audit RENAME TO audit_elsewhere');
    expect((await batches.next()).value).toEqual([
      {
        totals: {decided: 500, refused: 0, left: 700},
        is_cut: false,
        problem: expect.objectContaining({status: 503, detail: expect.stringContaining('42P01')}),
      },
    ]);
    expect((await batches.next()).done).toBe(true);
    expect(await idsIn(place, 'pending')).toEqual(ids.slice(500));
  });

  test('end after the running batch when the server stops', async () => {
    const stop = new AbortController();
    const batches = open(await makePending(place, 501), stop);
    await batches.next();
    stop.abort();
    expect((await batches.next()).value).toMatchObject([
      {
        totals: {decided: 500, left: 1},
        problem: {type: 'urn:fieldmirror:problem:stopping', status: 503},
      },
    ]);
    expect((await batches.next()).done).toBe(true);
  });
});
