// The document describes the HTTP API: every answer is as it promises, every request that it allows
// is read.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {z} from 'zod';
import {readDocument} from '../../src/core/package.ts';
import {allTables, allWrites} from '../../src/streams/all.ts';
import {openPlace, type Place} from './place.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a stranger reads from JSON
type Json = any;

let place: Place;
let document: Json;
beforeAll(async () => {
  place = await openPlace();
  document = (await place.get('/v1/openapi.json')).body;
});
afterAll(() => place?.close());

/** The schema with its references put in place; the document has no circles. */
function resolve(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(resolve);
  if (typeof schema !== 'object' || schema === null) return schema;
  if (typeof schema.$ref === 'string') return resolve(lookUp(schema.$ref));
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, resolve(value)]));
}

function lookUp(ref: string): Json {
  expect(ref).toMatch(/^#\//);
  return ref
    .slice(2)
    .split('/')
    .reduce((at: Json, part) => at?.[part], document);
}

const schemaOf = (schema: Json) => z.fromJSONSchema(closeObjects(resolve(schema)));

/** Forbids fields that the document does not know. */
function closeObjects(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closeObjects);
  if (typeof schema !== 'object' || schema === null) return schema;
  const closed = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, closeObjects(value)]),
  );
  return schema.type === 'object' && schema.properties !== undefined
    ? {...closed, additionalProperties: false}
    : closed;
}

function answerOf(path: string, method: string, status: string, type = 'application/json') {
  return schemaOf(document.paths[path][method].responses[status].content[type].schema);
}

test('the document is OpenAPI 3.1, lists every path, and all its references resolve', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(document.components.securitySchemes.key).toEqual({type: 'http', scheme: 'bearer'});
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(
    ([, ref = '']) => ref,
  );
  expect(refs.length).toBeGreaterThan(10);
  for (const ref of refs) expect(lookUp(ref), ref).toBeTypeOf('object');
  expect(Object.keys(document.paths).sort()).toEqual(
    [
      '/v1/changes',
      '/v1/changes/decide',
      '/v1/changes/undo',
      '/v1/changes/{change_id}',
      '/v1/employees/{employee_number}/login',
      '/v1/feed',
      '/v1/feed/place',
      ...allTables.map(({name}) => `/v1/${name}`),
      ...allTables.filter(({key}) => key.length === 1).map(({name}) => `/v1/${name}/{number}`),
    ].sort(),
  );
});

/** The choices of all schemas within a value. */
function listChoices(value: Json): Json[][] {
  if (typeof value !== 'object' || value === null) return [];
  const choices = [value.anyOf, value.oneOf].filter((list) => Array.isArray(list));
  return [...choices, ...Object.values(value).flatMap(listChoices)];
}

const isOfListAndOther = (choices: Json[]) =>
  choices.some(({type}) => type === 'array') &&
  choices.some(({type}) => type !== 'array' && type !== 'null');

// Generators of clients make a type of each name. They fail at a choice between an object and a
// list, and number the choices within a choice.
test('a request is a list of changes, which are named by operation and table', () => {
  const body = document.paths['/v1/changes'].post.requestBody.content['application/json'].schema;
  const ref = '#/components/schemas/ChangeRequestInput';
  expect(body).toMatchObject({type: 'array', maxItems: 500, items: {$ref: ref}});
  const names = allWrites.flatMap(({table}) =>
    ['create', 'update', 'upsert', 'delete'].map((operation) => `${operation}_${table.name}`),
  );
  expect(lookUp(ref).oneOf).toEqual(
    names.map((name) => ({$ref: `#/components/schemas/${name}Input`})),
  );
  expect(listChoices(document).filter(isOfListAndOther)).toEqual([]);
});

test('docs/http-api.md lists every address that is not of a table', () => {
  const rows = readDocument('http-api').matchAll(/^\| `.*?\|/gm);
  const listed = [...rows].join(' ');
  const own = Object.keys(document.paths).filter(
    (path) => !allTables.some(({name}) => [`/v1/${name}`, `/v1/${name}/{number}`].includes(path)),
  );
  expect(own).toContain('/v1/changes');
  expect(
    own.filter((path) => !new RegExp(`${path.replaceAll(/\{\w+\}/g, '[A-Z]+')}\``).test(listed)),
  ).toEqual([]);
});

test('the document has every column of every table, with its comment', () => {
  for (const table of allTables) {
    const {properties} = document.components.schemas[`row_${table.name}`];
    for (const {name, comment} of table.columns)
      expect(properties[name]?.description, name).toBe(comment);
  }
});

test('the document has every field that can be written', () => {
  const request = JSON.stringify(resolve(document.paths['/v1/changes'].post.requestBody));
  for (const {table} of allWrites) {
    expect(request).toContain(`"const":"${table.name}"`);
    for (const {name, onCreate, onUpdate} of table.writable)
      if (onCreate || onUpdate) expect(request).toContain(`"${name}":{`);
  }
});

test.each(allTables.map(({name}) => name))(
  'the document describes what /v1/%s answers',
  async (name) => {
    const {body} = await place.get(`/v1/${name}`);
    expect(answerOf(`/v1/${name}`, 'get', '200').parse(body)).toEqual(body);
  },
);

describe('the document describes the answers to', () => {
  const create = {table: 'tasks', operation: 'create', fields: {name: 'x'}};
  const job = {
    table: 'jobs',
    operation: 'update',
    number: 11,
    fields: {employee_ids: [501, 502], job_type_id: null},
  };
  const same = {table: 'customers', operation: 'update', number: 1, fields: {name: 'Acme'}};

  test.each([[[create]], [[job]], [[create, same]], [[same]]])('%j', async (ask) => {
    const request = schemaOf(
      document.paths['/v1/changes'].post.requestBody.content['application/json'].schema,
    );
    expect(() => request.parse(ask)).not.toThrow();
    const {status, body} = await place.post(ask);
    expect(answerOf('/v1/changes', 'post', `${status}`).parse(body)).toEqual(body);
  });

  test.each([[create], [same]])('%j, sent without a list', async (ask) => {
    const {status, body} = await place.post(ask);
    const list = {changes: [body]};
    expect(answerOf('/v1/changes', 'post', `${status}`).parse(list)).toEqual(list);
  });

  test('reading a change', async () => {
    const {change_id} = (await place.post(create)).body;
    await place.pool.query(
      `INSERT INTO sync.attempts (change_id, fence, method, path)
        VALUES ($1, 1, 'POST', '/tasks.xml')`,
      [change_id],
    );
    const {body} = await place.get(`/v1/changes/${change_id}`);
    expect(answerOf('/v1/changes/{change_id}', 'get', '200').parse(body)).toEqual(body);
  });

  test('listing, deciding and undoing changes', async () => {
    const {change_id} = (await place.post(create)).body;
    const listed = await place.get('/v1/changes?limit=3');
    expect(answerOf('/v1/changes', 'get', '200').parse(listed.body)).toEqual(listed.body);
    for (const [name, ask] of [
      ['decide', {decision: 'hold', change_ids: [change_id, '999999']}],
      ['undo', {change_ids: [change_id, '999999']}],
    ] as const) {
      const path = `/v1/changes/${name}`;
      const request = schemaOf(
        document.paths[path].post.requestBody.content['application/json'].schema,
      );
      expect(() => request.parse(ask)).not.toThrow();
      const {status, body} = await place.post(ask, {path});
      expect(answerOf(path, 'post', `${status}`).parse(body)).toEqual(body);
    }
  });

  test.each([
    ['decide', {decision: 'hold'}],
    ['undo', {}],
  ])('%s line by line', async (verb, ask) => {
    const {change_id} = (await place.post(create)).body;
    const path = `/v1/changes/${verb}`;
    const line = answerOf(path, 'post', '200', 'application/x-ndjson');
    const answer = await fetch(place.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${place.keys.writer}`,
        'content-type': 'application/json',
        accept: 'application/x-ndjson',
      },
      body: JSON.stringify({...ask, change_ids: [change_id, '999999']}),
    });
    const lines = (await answer.text()).trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    for (const text of lines) expect(line.parse(JSON.parse(text))).toEqual(JSON.parse(text));
  });

  test('changes that are sent line by line', async () => {
    const {post} = document.paths['/v1/changes'];
    const line = schemaOf(post.requestBody.content['application/x-ndjson'].schema);
    const ask = {...create, external_key: 'T-1'};
    expect(() => line.parse(ask)).not.toThrow();
    const answer = await fetch(`${place.url}/v1/changes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${place.keys.writer}`,
        'content-type': 'application/x-ndjson',
      },
      body: [ask, same, {...same, number: 99}].map((one) => JSON.stringify(one)).join('\n'),
    });
    const told = answerOf('/v1/changes', 'post', '200', 'application/x-ndjson');
    const lines = (await answer.text()).trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    for (const text of lines) expect(told.parse(JSON.parse(text))).toEqual(JSON.parse(text));
  });

  test('rejected requests', async () => {
    const refused = answerOf('/v1/changes', 'post', 'default', 'application/problem+json');
    const answers = [
      await place.post({}),
      await place.post('{'),
      await place.post({...same, number: 99}),
      await place.post({table: 'employees', operation: 'delete', number: 1}),
      await place.get('/v1/nothing'),
      await place.get('/v1/tasks', {key: null}),
    ];
    for (const {body} of answers) expect(refused.parse(body)).toEqual(body);
  });
});

test('a filter by time is a date-time in the document', () => {
  for (const [path, name] of [
    ['/v1/changes', 'since'],
    ['/v1/jobs', 'changed_since'],
  ] as const) {
    const parameter = document.paths[path].get.parameters.find((each: Json) => each.name === name);
    expect(parameter.schema).toMatchObject({type: 'string', format: 'date-time'});
  }
});
