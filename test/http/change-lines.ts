// Changes that are sent one a line.

import {expect} from 'vitest';
import {linesType} from '../../src/http/problem.ts';
import {parseLines} from './lines-place.ts';
import type {Place} from './place.ts';

interface Sending {
  readonly key?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends documents one a line, or a body as it is. */
export async function send(
  place: Place,
  body: readonly unknown[] | string | Buffer,
  {key = place.keys.writer, query = '', headers = {}, signal}: Sending = {},
) {
  const text = Array.isArray(body) ? body.map((one) => JSON.stringify(one)).join('\n') : body;
  return await fetch(`${place.url}/v1/changes${query}`, {
    method: 'POST',
    headers: {authorization: `Bearer ${key}`, 'content-type': linesType, ...headers},
    body: text as string,
    ...(signal === undefined ? {} : {signal}),
  });
}

/** Sends lines, and gives the answer of each and that of the end. */
export async function sendAll(
  place: Place,
  body: readonly unknown[] | string | Buffer,
  sending: Sending = {},
) {
  const answer = await send(place, body, sending);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, linesType]);
  const lines = parseLines(await answer.text());
  const end = lines.pop();
  return {lines, end};
}

export const upsert = (at: number, more: object = {}) => ({
  table: 'customers',
  operation: 'upsert',
  external_key: `C-${at}`,
  fields: {name: `Customer ${at}`, phone_number: `555-${at}`},
  ...more,
});

export const upserts = (many: number) => Array.from({length: many}, (_, at) => upsert(at + 1));

/** Of the rows that `upsert` makes. */
export const keyed = `external_key LIKE 'C-%'`;

/** Rows of a table. */
export async function count(place: Place, table: string, condition = 'true'): Promise<number> {
  const {rows} = await place.pool.query<{count: number}>(
    `SELECT count(*)::int FROM ${table} WHERE ${condition}`,
  );
  return rows[0]?.count ?? -1;
}

/**
 * Breaks three of the lines: one that is no JSON, one that the schema refuses, and one that the
 * database refuses amid others that are new. Expects that they alone are refused, each by its name.
 */
export async function expectThreeRefused(place: Place, lines: string[]): Promise<void> {
  const [one, two, three] = [99, lines.length / 2 - 1, lines.length - 1];
  lines[one] = '{"table": "customers", ';
  lines[two] = JSON.stringify(upsert(two, {fields: {nmae: 'x'}}));
  lines[three] = JSON.stringify(upsert(three, {fields: {name: ' ', phone_number: '1'}}));
  const {lines: answers, end} = await sendAll(place, lines.join('\n'));
  const changed = lines.length - 3;
  expect(end).toEqual({totals: {changed, unchanged: 0, refused: 3, left: 0}, problem: null});
  expect(answers.map(({line}) => line)).toEqual(lines.map((_, at) => at + 1));
  expect(answers.filter(({problem}) => problem !== null)).toMatchObject([
    {line: one + 1, change_id: null, problem: {detail: 'the line is no JSON in UTF-8'}},
    {line: two + 1, problem: {errors: [{at: '/fields/nmae', got: '"x"'}]}},
    {line: three + 1, problem: {status: 422, detail: expect.stringMatching(/customers\.name: /)}},
  ]);
  expect(answers[0]).toEqual({
    ...{line: 1, change_id: expect.any(String), row_id: expect.any(String)},
    ...{state: 'pending', problem: null},
  });
  expect(await count(place, 'warehouse.customers', keyed)).toBe(changed);
  expect(await count(place, 'sync.changes')).toBe(changed);
}
