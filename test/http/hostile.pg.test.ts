// Hostile requests of a stranger are refused with a reason, and leave the warehouse as it was.

import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());
afterEach(async () => {
  expect((await place.pool.query('SELECT FROM sync.changes')).rowCount).toBe(0);
});

const update = (fields: unknown) => ({table: 'customers', operation: 'update', number: 1, fields});
const entry = (fields: unknown) => ({
  table: 'time_entries',
  operation: 'create',
  parent: {number: 11},
  fields,
});
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** Each body that is sent, and the place that is named for its first flaw. */
const flawed: readonly (readonly [string, unknown, string])[] = [
  ['nothing', undefined, ''],
  ['null', 'null', ''],
  ['a number', '1', ''],
  ['a text', '"x"', ''],
  ['no change at all', [], ''],
  ['501 changes', Array(501).fill(update({name: 'x'})), ''],
  ['an unknown table', {...update({name: 'x'}), table: 'customers; DROP TABLE x'}, '/table'],
  ['a table that cannot be written', {...update({name: 'x'}), table: 'contacts'}, '/table'],
  ['a table of another schema', {...update({name: 'x'}), table: 'sync.changes'}, '/table'],
  ['an unknown operation', {...update({name: 'x'}), operation: 'truncate'}, '/operation'],
  ['SQL as the name of a field', update({'name" = name; --': 'x'}), '/fields/name" = name; --'],
  ['a column of our own', update({_deleted_at: null}), '/fields/_deleted_at'],
  ['a column that the service owns', update({customer_number: 5}), '/fields/customer_number'],
  ['another account', {...update({name: 'x'}), account_id: 2}, '/account_id'],
  ['no field', update({}), '/fields'],
  ['fields that are none', update([]), '/fields'],
  ['a number for a text', update({name: 1}), '/fields/name'],
  ['an object for a text', update({name: {$ne: null}}), '/fields/name'],
  ['U+0000', update({name: 'a\0'}), '/fields/name'],
  [
    'half a character',
    `{"table":"customers","operation":"update","number":1,"fields":{"name":"\\ud800"}}`,
    '/fields/name',
  ],
  ['no row', {...update({name: 'x'}), number: undefined}, ''],
  ['two names of a row', {...update({name: 'x'}), row_id: 1}, ''],
  ['SQL for a number', {...update({name: 'x'}), number: '1 OR 1=1'}, '/number'],
  [
    'a number beyond what JSON keeps',
    `{"table":"customers","operation":"delete","number":12345678901234567890}`,
    '/number',
  ],
  ['a number beyond bigint', {...update({name: 'x'}), number: '9'.repeat(19)}, '/number'],
  ['a number without end', `{"table":"customers","operation":"delete","number":1e999}`, '/number'],
  ['half a record', {...update({name: 'x'}), number: 1.5}, '/number'],
  [
    'an amount that JSON would round',
    entry({number_of_hours: 1.2345678901234567}),
    '/fields/number_of_hours',
  ],
  ['an amount with an exponent', entry({number_of_hours: 1e-7}), '/fields/number_of_hours'],
  ['an amount of 31 digits', entry({number_of_hours: '1'.repeat(31)}), '/fields/number_of_hours'],
  ['an amount that is none', entry({number_of_hours: 'NaN'}), '/fields/number_of_hours'],
  ['a time that is none', entry({started_on: 'tomorrow'}), '/fields/started_on'],
  ['a time of numbers', entry({started_on: 1795000000}), '/fields/started_on'],
  [
    'a text for true',
    {table: 'tasks', operation: 'update', number: 61, fields: {completed: 'true'}},
    '/fields/completed',
  ],
  [
    'a field of an update in a create',
    {table: 'tasks', operation: 'create', fields: {completed: true}},
    '/fields/completed',
  ],
  [
    'employees that are none',
    {table: 'jobs', operation: 'update', number: 11, fields: {employee_ids: ['x']}},
    '/fields/employee_ids/0',
  ],
  ['no parent', {...entry({}), parent: undefined}, '/parent'],
  ['a parent of nothing', {...entry({}), parent: {}}, '/parent'],
  ['a parent of too much', {...entry({}), parent: {number: 11, index: 0}}, '/parent'],
  [
    'a parent for what has none',
    {table: 'tasks', operation: 'create', parent: {number: 1}, fields: {}},
    '/parent',
  ],
  ['a flaw in the second of two', [update({name: 'x'}), update({name: 2})], '/1/fields/name'],
  ['a hundred thousand levels', deep(100_000), '/0'],
  [
    'a hundred thousand levels in a field',
    `{"table":"customers","operation":"update","number":1,"fields":{"name":${deep(100_000)}}}`,
    '/fields/name',
  ],
];

/** Sends bytes as the body of a change. */
async function sendBytes(body: Buffer, contentType: string) {
  const response = await fetch(`${place.url}/v1/changes`, {
    method: 'POST',
    headers: {authorization: `Bearer ${place.keys.writer}`, 'content-type': contentType},
    body: new Uint8Array(body),
  });
  return {status: response.status, body: await response.json()};
}

test.each(flawed)(
  'a body with %s is rejected with the position of the flaw',
  async (_what, body, at) => {
    const {status, headers, body: problem} = await place.post(body);
    expect(status, JSON.stringify(problem)).toBe(400);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(problem).toMatchObject({
      type: 'urn:fieldmirror:problem:invalid',
      title: 'Bad Request',
      status: 400,
      errors: [
        {in: 'body', at, expected: expect.stringMatching(/\S/), got: expect.stringMatching(/\S/)},
      ],
    });
  },
);

test('the answer to a flawed body has the expected and the actual value of each flaw', async () => {
  const {body} = await place.post([
    update({name: 7, nam: 'x'}),
    {...update({}), operation: 'replace'},
  ]);
  expect(body.detail).toBe('/0/fields/name: expected string, got 7');
  expect(body.errors).toMatchObject([
    {at: '/0/fields/name', expected: 'string', got: '7'},
    {
      at: '/0/fields/nam',
      expected: expect.stringMatching(/^one of name, phone_number, /),
      got: '"x"',
    },
    {at: '/1/operation', expected: 'one of create, update, upsert, delete', got: '"replace"'},
  ]);
});

test.each([
  [{table: 'customers', operation: 'delete', number: '0'}, '/number', 'a number from 1 on; one of'],
  [
    entry({employee_id: 501, number_of_hours: '1e2', started_at: '2027-03-01 09:00'}),
    '/fields/number_of_hours',
    'a decimal number; one of more than',
  ],
])('a flawed number is answered with what is expected: %j', async (body, at, expected) => {
  const {body: problem} = await place.post(body);
  expect(problem.errors).toContainEqual(
    expect.objectContaining({at, expected: expect.stringContaining(expected)}),
  );
});

describe('a body that is not acceptable JSON', () => {
  test.each([
    '{',
    '{"a":1}}',
    '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":{}}}',
    '\u0000',
  ])('is rejected: %j', async (body) => {
    const answer = await place.post(body);
    expect(answer).toMatchObject({status: 400, body: {type: 'urn:fieldmirror:problem:invalid'}});
  });

  test('is rejected with 415 if it is compressed', async () => {
    const headers = {'content-type': 'application/json', 'content-encoding': 'gzip'};
    expect(await place.post('{}', {headers})).toMatchObject({
      status: 415,
      body: {detail: expect.stringContaining('got Content-Encoding: gzip')},
    });
    const lines = {'content-type': 'application/x-ndjson', 'content-encoding': 'gzip'};
    expect((await place.post('{}', {headers: lines})).status).toBe(415);
  });

  test('is rejected with 415 if its content type is not JSON', async () => {
    const headers = {'content-type': 'text/plain'};
    expect((await place.post('{}', {headers})).status).toBe(415);
  });

  test.each([
    ['Latin-1', 'latin1'],
    ['UTF-16', 'utf16le'],
  ] as const)('is rejected with 400 if its bytes are %s', async (_, encoding) => {
    const bytes = Buffer.from(JSON.stringify(update({name: 'Jürgen'})), encoding);
    expect(await sendBytes(bytes, 'application/json')).toMatchObject({
      status: 400,
      body: {detail: 'the body is no JSON in UTF-8'},
    });
  });

  test.each(['ISO-8859-1', '"utf-16"', 'windows-1252; x=1'])(
    'is rejected with 415 if its content type has charset=%s',
    async (charset) => {
      const bytes = Buffer.from(JSON.stringify(update({name: 'x'})));
      expect(await sendBytes(bytes, `application/json; charset=${charset}`)).toMatchObject({
        status: 415,
        body: {errors: [{in: 'header', at: 'content-type', expected: 'charset=utf-8'}]},
      });
    },
  );

  test('is rejected with 413 if it is too large', async () => {
    const {status, body} = await place.post(update({name: 'x'.repeat(1_000_001)}));
    expect(status).toBe(413);
    expect(body.type).toBe('urn:fieldmirror:problem:too-large');
  });
});

test.each(['/v1/%zz', '/v1/..%2f..%2fetc', '/v1/customers/1/2', '/v1/api_keys', '/v1/accounts'])(
  'the unknown path %s is answered with a problem',
  async (path) => {
    const {status, headers} = await place.get(path);
    expect([400, 404]).toContain(status);
    expect(headers.get('content-type')).toBe('application/problem+json');
  },
);

test.each([
  ['DELETE', '/v1/customers/1', 'GET'],
  ['PATCH', '/v1/customers/1?deleted=true', 'GET'],
  ['PUT', '/v1/customers', 'GET'],
  ['DELETE', '/v1/changes', 'GET, POST'],
  ['POST', '/v1/openapi.json', 'GET'],
])('%s %s is answered 405, not as if it did not exist', async (method, path, allowed) => {
  const headers = {
    authorization: `Bearer ${place.keys.writer}`,
    'content-type': 'application/json',
  };
  const answer = await fetch(place.url + path, {method, headers});
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
  const problem: unknown = await answer.json();
  expect(problem).toMatchObject({
    type: 'urn:fieldmirror:problem:method',
    hint: expect.stringContaining('POST /v1/changes'),
  });
  const unknown = await fetch(place.url + path, {method});
  expect(unknown.status).toBe(401);
});

test.each(['utf-8', '"UTF-8"', 'utf8'])(
  'a body of JSON with charset=%s is read',
  async (charset) => {
    const bytes = Buffer.from(JSON.stringify({...update({name: 'ü'}), number: 999}));
    expect(await sendBytes(bytes, `application/json; charset=${charset}`)).toMatchObject({
      status: 404,
    });
  },
);

test('a request from a page of another origin is rejected, without CORS headers', async () => {
  const headers = {origin: 'https://evil.example', 'access-control-request-method': 'POST'};
  const answer = await fetch(`${place.url}/v1/changes`, {method: 'OPTIONS', headers});
  expect(answer.status).toBe(401);
  expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual(
    [],
  );
});
