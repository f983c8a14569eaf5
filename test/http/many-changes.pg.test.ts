// Many changes at once over HTTP: listed, decided and taken back, by their numbers or by what they
// have in common.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {writeNumbers} from '../../src/rows/number-set.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

const rename = (number: number, name: string) => ({
  table: 'customers',
  operation: 'update',
  number,
  fields: {name},
});
const send = (path: string, body: unknown, key?: string) =>
  place.post(body, {path, ...(key === undefined ? {} : {key})});
/** Two changes of a named request, and one beside them. */
async function make(): Promise<string[]> {
  const named = await place.post([rename(1, 'Ace'), rename(2, 'Bee')], {
    path: '/v1/changes?batch=import%204711',
  });
  expect(named.status).toBe(202);
  const other = await place.post({...rename(3, 'Cee'), hold: true});
  return [...named.body.changes, other.body].map(({change_id}) => change_id);
}
const lastAudit = async () =>
  (await place.pool.query('SELECT * FROM sync.audit ORDER BY audit_id DESC LIMIT 1')).rows[0];
const idsOf = ({body}: {body: {changes: {change_id: string}[]}}) =>
  body.changes.map(({change_id}) => change_id);

describe('GET /v1/changes', () => {
  test('filters by batch, transaction, state, table, author and time, page by page', async () => {
    const [one, two, three] = await make();
    const list = async (query: string) => idsOf(await place.get(`/v1/changes?${query}`));
    expect(await list('')).toEqual([one, two, three]);
    expect(await list('batch=import%204711')).toEqual([one, two]);
    expect(await list('state=held')).toEqual([three]);
    expect(await list('table=jobs')).toEqual([]);
    expect(await list('by=http:%20erp&since=2026-01-01T00:00:00Z')).toEqual([one, two, three]);
    expect(await list('since=2099-01-01T00:00:00Z')).toEqual([]);
    const {body} = await place.get(`/v1/changes/${one}`);
    expect(body).toMatchObject({batch: 'import 4711', undoes: null});
    expect(await list(`transaction=${body.transaction_id}`)).toEqual([one, two]);
    const first = await place.get('/v1/changes?limit=2');
    expect(first.body.next_after).toBe(two);
    const last = await place.get(`/v1/changes?limit=2&after=${two}`);
    expect([idsOf(last), last.body.next_after]).toEqual([[three], null]);
  });

  test('finds the changes of a row by its external key, and none of another account', async () => {
    await place.post({
      table: 'customers',
      operation: 'create',
      external_key: 'C-88',
      fields: {name: 'New'},
    });
    expect((await place.get('/v1/changes?external_key=C-88')).body.changes).toMatchObject([
      {operation: 'create', external_key: 'C-88'},
    ]);
    expect((await place.get('/v1/changes', {key: place.keys.strange})).body.changes).toEqual([]);
  });

  test.each([
    'state=lost',
    'table=customer',
    'since=yesterday',
    'transaction=x',
    'by_whom=x',
    'by=%00',
    'external_key=%00',
    'batch=a%0ab',
  ])('refuses the query %s', async (query) => {
    const {status, body} = await place.get(`/v1/changes?${query}`);
    expect([status, body.errors.length > 0]).toEqual([400, true]);
  });
});

describe('POST /v1/changes/decide', () => {
  test('decides the matching changes that it can, and reports why not the others', async () => {
    const [one = '', two = '', three = ''] = await make();
    await place.pool.query(
      `UPDATE sync.changes SET lease_until = now() + interval '1 h' WHERE change_id = $1`,
      [one],
    );
    const {status, body} = await send('/v1/changes/decide', {
      decision: 'hold',
      filter: {batch: 'import 4711'},
    });
    expect([status, body]).toEqual([
      200,
      {
        changes: [
          {change_id: one, state: null, refusal: expect.stringContaining('a worker has it')},
          {change_id: two, state: 'held', refusal: null},
        ],
        is_cut: false,
      },
    ]);
    expect((await place.get(`/v1/changes/${two}`)).body.reason).toBe('held by http: erp');
    const released = await send('/v1/changes/decide', {
      decision: 'release',
      change_ids: [two, three, '999999'],
    });
    expect(released.body.changes).toMatchObject([
      {change_id: two, state: 'pending'},
      {change_id: three, state: 'pending'},
      {change_id: '999999', refusal: 'change 999999: no change has that number'},
    ]);
    expect(await lastAudit()).toMatchObject({
      action: 'changes.decide',
      name: 'http: erp',
      role: 'operator',
      session_id: null,
      subject: '2 changes',
      before: {held: writeNumbers([two, three])},
      after: {verb: 'release', decided: {pending: writeNumbers([two, three])}, refused: {}},
    });
    const given = await send('/v1/changes/decide', {
      decision: 'cancel',
      filter: {},
      reason: 'typed twice',
    });
    expect(given.body.changes.map(({state}: {state: string | null}) => state)).toEqual([
      ...[null, 'cancelled', 'cancelled'],
    ]);
  });

  test('decides ten thousand changes in one request', async () => {
    await place.pool.query(
      `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base)
       SELECT $1, 'tasks', 1000000 + at, 'update', 1000000 + at, '{"name": "x"}', '{"name": "y"}'
       FROM generate_series(1, 10000) AS at`,
      [place.account.accountId],
    );
    const {rows} = await place.pool.query('SELECT change_id FROM sync.changes');
    const ids = rows.map(({change_id}) => change_id);
    const {body} = await send('/v1/changes/decide', {decision: 'hold', change_ids: ids});
    expect(body.changes.filter(({state}: {state: string}) => state === 'held')).toHaveLength(
      10_000,
    );
    expect(
      (await send('/v1/changes/decide', {decision: 'hold', change_ids: [...ids, '1']})).status,
    ).toBe(400);
  });

  test.each([
    [{decision: 'hold'}],
    [{decision: 'hold', change_ids: ['1'], filter: {}}],
    [{decision: 'hold', change_ids: []}],
    [{decision: 'undo', filter: {}}],
    [{decision: 'resolve', filter: {}}],
    [{decision: 'hold', take: 'service', filter: {}}],
    [{decision: 'hold', filter: {batches: 'x'}}],
    [{decision: 'cancel', reason: 'a\u0000', filter: {}}],
  ])('refuses %j', async (body) => {
    expect((await send('/v1/changes/decide', body)).status).toBe(400);
  });

  test('decides no change of another account, and rejects a read-only key', async () => {
    const [one] = await make();
    const ask = {decision: 'hold', change_ids: [one]};
    expect((await send('/v1/changes/decide', ask, place.keys.strange)).body.changes).toMatchObject([
      {state: null, refusal: `change ${one}: no change has that number`},
    ]);
    expect((await send('/v1/changes/decide', ask, place.keys.reader)).status).toBe(403);
    expect((await send('/v1/changes/undo', {change_ids: [one]}, place.keys.reader)).status).toBe(
      403,
    );
    expect((await place.get(`/v1/changes/${one}`)).body.state).toBe('pending');
    expect(await lastAudit()).toBeUndefined();
  });
});

test('POST /v1/changes/undo cancels unsent changes, and holds the undo of the others', async () => {
  const [one, two, three] = await make();
  await place.pool.query(
    `UPDATE sync.changes SET state = 'done', settled_at = now() WHERE change_id = $1`,
    [one],
  );
  const {body} = await send('/v1/changes/undo', {filter: {batch: 'import 4711'}});
  const [{undone_by: undoId}] = body.changes;
  expect(body).toEqual({
    batch: 'undo of import 4711',
    changes: [
      {change_id: one, outcome: 'held', undone_by: undoId, fields: ['name'], refusal: null},
      {change_id: two, outcome: 'cancelled', undone_by: null, fields: [], refusal: null},
    ],
  });
  expect((await place.get(`/v1/changes/${undoId}`)).body).toMatchObject({
    state: 'held',
    undoes: [one],
    fields: {name: 'Acme'},
    base: {name: 'Ace'},
    batch: 'undo of import 4711',
    requested_by: 'http: erp',
  });
  expect(await lastAudit()).toMatchObject({
    action: 'changes.undo',
    name: 'http: erp',
    account_id: place.account.accountId,
    subject: '2 changes',
    before: {done: one, pending: two},
    after: {
      batch: 'undo of import 4711',
      undone: {held: one, cancelled: two},
      made: undoId,
      left: {},
    },
  });
  expect(
    (await send('/v1/changes/undo', {change_ids: [three, '999999']})).body.changes,
  ).toMatchObject([
    {change_id: three, outcome: 'cancelled'},
    {change_id: '999999', outcome: null},
  ]);
});
