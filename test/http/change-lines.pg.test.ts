// Changes that are sent one a line: each is made or refused by itself, however the request ends.

import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {addApiKey, revokeApiKey} from '../../src/accounts/access.ts';
import {linesType} from '../../src/http/problem.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {Random} from '../../src/service/vocabulary.ts';
import {
  count,
  expectThreeRefused,
  keyed,
  randomLines,
  readOutcome,
  send,
  sendAll,
  upsert,
  upserts,
} from './change-lines.ts';
import {type Line, readLines, whileRowsHeld} from './lines-place.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;

describe('changes sent as lines', () => {
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place?.close());

  test('have the same effect as in the JSON form, in the order of the lines', async () => {
    const {lines, end} = await sendAll(
      place,
      [
        upsert(1),
        {
          table: 'jobs',
          operation: 'create',
          external_key: 'J-1',
          parent: {external_key: 'C-1'},
          fields: {name: 'Roof'},
          hold: true,
        },
        {table: 'customers', operation: 'update', external_key: 'C-1', fields: {fax: '1'}},
        {table: 'customers', operation: 'update', number: 1, fields: {name: 'Acme'}},
        {table: 'tasks', operation: 'delete', number: 61},
      ],
      {query: '?batch=night'},
    );
    expect(end.totals).toEqual({changed: 4, unchanged: 1, refused: 0, left: 0});
    expect(lines.map(({state}) => state)).toEqual([
      ...['pending', 'held', 'pending', 'unchanged', 'pending'],
    ]);
    expect(lines[2].change_id).toBe(lines[0].change_id);
    const {body} = await place.get('/v1/changes?batch=night');
    expect(body.changes.map(({operation}: Line) => operation)).toEqual([
      'create',
      'create',
      'delete',
    ]);
    const job = (await place.get('/v1/jobs?key=J-1')).body.rows[0];
    expect(job.parent_row_id).toBe(lines[0].row_id);
  });

  test('may have any line ending, and blank lines get no answer', async () => {
    const one = JSON.stringify(upsert(11));
    const two = JSON.stringify(upsert(12));
    const {lines} = await sendAll(place, `\uFEFF${one}\r\n\r\n  \n${two}`);
    expect(lines.map(({line, state}) => [line, state])).toEqual([
      [1, 'pending'],
      [4, 'pending'],
    ]);
  });

  const same = {table: 'customers', operation: 'update', number: 1, fields: {name: 'Other'}};
  test.each<[string, object]>([
    ['a column that there is not', {...same, fields: {nmae: 'x'}}],
    ['an invalid value', {...same, fields: {name: 7}}],
    ['a row that there is not', {...same, number: 99}],
    ['what a trigger refuses', {...same, fields: {name: null}}],
    ['an employee that there is not', {...same, table: 'jobs', fields: {scheduled_on: 'x'}}],
    ['a cursor that there is not', {...same, seen: 'x'}],
    ['what cannot be deleted', {table: 'employees', operation: 'delete', number: 1}],
    ['a parent that there is not', {...upsert(77), table: 'jobs', parent: {number: 99}}],
  ])('are rejected with the same problem as in the JSON form: %s', async (_, asked) => {
    const {status, body} = await place.post(asked);
    expect(status).toBeGreaterThanOrEqual(400);
    const {lines, end} = await sendAll(place, [upsert(1), asked, upsert(1)]);
    expect(lines[1]).toEqual({line: 2, change_id: null, row_id: null, state: null, problem: body});
    expect(end.totals).toEqual({changed: 0, unchanged: 2, refused: 1, left: 0});
  });

  test('are rejected if sending them again would create a second row', async () => {
    const task = {table: 'tasks', operation: 'create', fields: {name: 'Call'}};
    const {lines} = await sendAll(place, [
      task,
      {...task, external_key: 'T-1'},
      {...task, external_key: 'T-1'},
      {...task, table: 'jobs', external_key: 'J-9', parent: {index: 0}},
    ]);
    expect(lines.map(({state}) => state)).toEqual([null, 'pending', null, null]);
    expect(lines[0].problem.errors).toEqual([
      {
        in: 'body',
        at: '/external_key',
        got: 'nothing',
        expected: 'a key: by it the line can be sent again without a second row',
      },
    ]);
    expect(lines[2].problem).toMatchObject({
      hint: 'Update that row instead, or if it is deleted, set its external_key to null first.',
      status: 422,
    });
    expect(lines[3].problem.errors[0].at).toBe('/parent/index');
    expect(await count(place, 'warehouse.tasks', `external_key = 'T-1'`)).toBe(1);
  });

  test('are rejected if they are not UTF-8, and no other line is altered', async () => {
    const broken = Buffer.from(`${JSON.stringify(upsert(21))}\n`, 'latin1');
    broken[broken.indexOf('Customer')] = 0xe9;
    const {lines} = await sendAll(
      place,
      Buffer.concat([broken, Buffer.from(JSON.stringify(upsert(22, {fields: {name: 'Zoë'}})))]),
    );
    expect(lines.map(({state}) => state)).toEqual([null, 'pending']);
    const {body} = await place.get('/v1/customers?key=C-22');
    expect(body.rows[0].name).toBe('Zoë');
  });

  test('use the external keys of the system of their API key', async () => {
    const {accountId} = place.account;
    const secret = await addApiKey(place.pool, {
      name: 'tryton',
      accountId,
      role: 'operator',
      masks: false,
      system: 'tryton',
    });
    const key = secret?.reveal() ?? '';
    const asked = ['P-1', 'P-2'].map((name, at) => upsert(31 + at, {external_key: name}));
    const first = await sendAll(place, asked, {key});
    const second = await sendAll(place, asked, {key});
    const read = ({lines}: typeof first, name: string) => lines.map((line) => line[name]);
    expect([read(first, 'state'), read(second, 'state')]).toEqual([
      ['pending', 'pending'],
      ['unchanged', 'unchanged'],
    ]);
    expect(read(second, 'row_id')).toEqual(read(first, 'row_id'));
  });

  test('are held, and answered as held, if together they write too much of a table', async () => {
    await inSweepTransaction(place.pool, async (client) => {
      await client.query(
        `INSERT INTO warehouse.employees (account_id, employee_number, id, name, _sweep_id)
         SELECT $1, at, 900 + at, 'E', 1 FROM generate_series(10, 40) AS at`,
        [place.account.accountId],
      );
    });
    const numbers = Array.from({length: 20}, (_, at) => at + 10);
    const ask = (name: string) =>
      numbers.map((number) => ({
        table: 'employees',
        operation: 'update',
        number,
        fields: {name},
      }));
    const {lines} = await sendAll(place, ask('F'));
    expect(new Set(lines.map(({state}) => state))).toEqual(new Set(['held']));
    const {body} = await place.post(ask('G'));
    expect(new Set(body.changes.map(({state}: Line) => state))).toEqual(new Set(['held']));
  });
});

describe('four hundred lines', () => {
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place?.close());

  test('with three bad ones: the others are applied, and the three are reported', async () => {
    const lines = upserts(400).map((one) => JSON.stringify(one));
    await expectThreeRefused(place, lines);
    const {end} = await sendAll(place, lines.join('\n'));
    expect(end.totals).toEqual({changed: 0, unchanged: 397, refused: 3, left: 0});
    expect(await count(place, 'sync.changes')).toBe(397);
  });
});

describe('random lines', () => {
  /** A warehouse where no batch is too large, with two parents to delete, and where the feed is. */
  const open = async (system: string) => {
    const opened = await openPlace();
    const {accountId} = opened.account;
    await opened.pool.query(
      `INSERT INTO sync.edit_limits (account_id, table_name, most_rows)
       SELECT $1, name, 1000 FROM unnest('{customers,jobs,tasks}'::text[]) AS name`,
      [accountId],
    );
    const secret = await addApiKey(opened.pool, {
      name: 'other',
      accountId,
      role: 'operator',
      masks: false,
      system,
    });
    const {cursor} = (await opened.get('/v1/feed?after=end')).body;
    return {opened, key: secret?.reveal() ?? '', cursor};
  };

  const few = {many: 150, keys: 12, isKeyed: false};
  const apart = {many: 250, keys: 40, isKeyed: true};
  test.each([
    ['default', 1, few],
    ['default', 2, few],
    ['tryton', 3, few],
    ['default', 4, apart],
    ['tryton', 5, apart],
  ])('of the system %s have the same result as one by one (%i)', async (system, seed, ways) => {
    const [together, alone] = [await open(system), await open(system)];
    try {
      const make = (cursor: string) => randomLines(new Random('lines', system, seed), cursor, ways);
      const {lines} = await sendAll(together.opened, make(together.cursor), together);
      const one: typeof lines = [];
      for (const line of make(alone.cursor))
        one.push(...(await sendAll(alone.opened, [line], alone)).lines);
      const outcome = await readOutcome(together.opened, lines);
      expect(outcome).toEqual(await readOutcome(alone.opened, one));
      const states = new Set(outcome.answers.map((answer) => JSON.parse(answer).state));
      expect(states).toEqual(new Set(['pending', 'held', 'unchanged', null]));
    } finally {
      await Promise.all([together.opened.close(), alone.opened.close()]);
    }
  });
});

describe('a request with lines is rejected as a whole', () => {
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place?.close());
  afterEach(async () => {
    expect(await count(place, 'sync.changes')).toBe(0);
  });

  test.each([
    ['without lines', '', 400, 'body: expected 1 to 10000 lines of JSON, got none'],
    ['with blank lines alone', '\n\r\n ', 400, 'body: expected 1 to 10000 lines of JSON, got none'],
    [
      ...(['with too many', `${JSON.stringify(upsert(1))}\n`.repeat(10_001), 413] as const),
      'body: expected 1 to 10000 lines of JSON, got more',
    ],
    [
      ...(['that is too long', 'x'.repeat(10_000_001), 413] as const),
      'expected a body of at most 1000000 bytes, or 10000000 of lines',
    ],
  ])('%s', async (_, body, status, detail) => {
    const answer = await send(place, body);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({status, detail});
  });

  test('with an Idempotency-Key, or with a feed cursor to acknowledge', async () => {
    const named = await send(place, [upsert(1)], {headers: {'idempotency-key': 'x'}});
    expect(await named.json()).toMatchObject({
      status: 400,
      detail: 'Idempotency-Key: expected nothing beside lines',
      hint: expect.stringContaining('external_key'),
    });
    const {cursor} = (await place.get('/v1/feed?after=end')).body;
    const acked = await send(place, [upsert(1)], {query: `?ack=${encodeURIComponent(cursor)}`});
    expect(await acked.json()).toMatchObject({
      status: 400,
      errors: [{in: 'query', at: 'ack', expected: 'nothing beside lines'}],
    });
  });

  test('with a key that only reads or that masks, before its body is read', async () => {
    const {accountId} = place.account;
    const masking = await addApiKey(place.pool, {
      name: 'masking',
      accountId,
      role: 'operator',
      masks: true,
    });
    const long = 'x'.repeat(10_000_001);
    for (const [key = '', type] of [
      [place.keys.reader, 'read-only'],
      [masking?.reveal(), 'masked'],
    ])
      for (const body of [long, [upsert(1)]]) {
        const answer = await send(place, body, {key});
        expect(await answer.json()).toMatchObject({
          status: 403,
          type: `urn:fieldmirror:problem:${type}`,
        });
      }
  });

  test('at /v1/changes/decide, which accepts only JSON', async () => {
    const answer = await fetch(`${place.url}/v1/changes/decide`, {
      method: 'POST',
      headers: {authorization: `Bearer ${place.keys.writer}`, 'content-type': linesType},
      body: '{"decision": "hold", "filter": {}}',
    });
    expect(await answer.json()).toMatchObject({status: 415});
  });
});

describe('a request with lines that is cut off', () => {
  // The first batch goes alone, and then two side by side: 351 to 400 waits, 401 to 450 is made.
  const asked = upserts(600);
  asked[379] = {
    table: 'customers',
    operation: 'update',
    external_key: 'none',
    fields: {name: 'Acme Roofs', phone_number: '1'},
  };
  beforeEach(async () => {
    place = await openPlace({lockTimeoutMs: 60_000});
    const named = {table: 'customers', operation: 'update', number: 1, external_key: 'none'};
    expect((await place.post(named)).status).toBe(200);
  });
  afterEach(() => place?.close());

  const first = 'warehouse.customers WHERE customer_number = 1 AND account_id = 1';

  /** Reads the answers of 350 lines; one of the two batches after them waits for a row. */
  async function begin(signal?: AbortSignal) {
    const answer = await send(place, asked, signal === undefined ? {} : {signal});
    const reader = answer.body?.getReader();
    if (reader === undefined) throw new TypeError('an answer has a body');
    expect((await readLines(reader, 350)).map(({line}) => line)).toEqual(
      Array.from({length: 350}, (_, at) => at + 1),
    );
    const made = () => count(place, 'warehouse.customers', keyed);
    await expect.poll(made, {timeout: 50_000}).toBe(400);
    return reader;
  }

  test('by its client creates nothing twice when all lines are sent again', async () => {
    await whileRowsHeld(place, first, async (letGo) => {
      const leaving = new AbortController();
      await begin(leaving.signal);
      leaving.abort();
      // The server has met the end of the connection when it answers the next.
      expect((await fetch(`${place.url}/livez`)).status).toBe(200);
      await letGo();
      const made = () => count(place, 'warehouse.customers', keyed);
      await expect.poll(made, {timeout: 50_000}).toBe(449);
    });
    const {end} = await sendAll(place, asked);
    expect(end.totals).toEqual({changed: 150, unchanged: 450, refused: 0, left: 0});
    expect(await count(place, 'warehouse.customers', keyed)).toBe(599);
    expect(await count(place, 'sync.changes')).toBe(600);
  });

  test('by a row that stays locked says that what was answered before is done', async () => {
    await place.close();
    place = await openPlace();
    await place.post({table: 'customers', operation: 'update', number: 1, external_key: 'none'});
    await whileRowsHeld(place, first, async () => {
      const {end} = await sendAll(place, asked);
      expect(end).toMatchObject({
        totals: {changed: 400, left: 200},
        problem: {
          type: 'urn:fieldmirror:problem:locked',
          hint: expect.stringContaining('what was done stays done'),
        },
      });
    });
  });

  test('before all its lines have arrived has no effect', async () => {
    const lines = `${JSON.stringify(upsert(1))}\n`;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from(lines.repeat(100))),
      pull: (controller) => controller.error(new Error('cut off')),
    });
    const options = {duplex: 'half', body, method: 'POST'} as const;
    const headers = {authorization: `Bearer ${place.keys.writer}`, 'content-type': linesType};
    await expect(fetch(`${place.url}/v1/changes`, {...options, headers})).rejects.toThrow();
    expect((await fetch(`${place.url}/livez`)).status).toBe(200);
    expect(await count(place, 'sync.changes')).toBe(0);
  });

  test('by the revocation of its key reports how many lines are left', async () => {
    await whileRowsHeld(place, first, async (letGo) => {
      const reader = await begin();
      await revokeApiKey(place.pool, 'erp');
      await letGo();
      const rest = await readLines(reader, 251);
      expect(rest.at(-1)).toMatchObject({problem: {status: 401}});
      const {changed, left} = rest.at(-1).totals;
      expect(changed + left).toBe(600);
      expect(await count(place, 'sync.changes')).toBe(changed);
    });
  });

  test('by the stop of the server reports how many lines are left', async () => {
    await whileRowsHeld(place, first, async (letGo) => {
      const reader = await begin();
      const stopped = place.stop();
      await letGo();
      const rest = await readLines(reader, 101);
      expect(rest.at(-1)).toMatchObject({
        totals: {changed: 450, unchanged: 0, refused: 0, left: 150},
        problem: {status: 503, type: 'urn:fieldmirror:problem:stopping'},
      });
      await stopped;
      expect(await count(place, 'sync.changes')).toBe(450);
    });
  });
});
