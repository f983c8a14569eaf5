// Changes that are sent one a line.

import {expect} from 'vitest';
import {linesType} from '../../src/http/problem.ts';
import type {Random} from '../../src/service/vocabulary.ts';
import {type Line, parseLines} from './lines-place.ts';
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
    line: 1,
    change_id: expect.any(String),
    row_id: expect.any(String),
    state: 'pending',
    problem: null,
  });
  expect(await count(place, 'warehouse.customers', keyed)).toBe(changed);
  expect(await count(place, 'sync.changes')).toBe(changed);
}

interface Ways {
  readonly many: number;
  /** How many keys there are: the fewer, the more lines are of one row. */
  readonly keys: number;
  /** Whether keys alone name rows, and none is deleted: then lines can be known to be apart. */
  readonly isKeyed: boolean;
}

/** Lines that may be good or bad, of which several are of one row. */
export function randomLines(random: Random, cursor: string, ways: Ways): object[] {
  const lines: object[] = [];
  while (lines.length < ways.many) {
    const table = random.pick(['customers', 'customers', 'jobs', 'tasks']);
    const hasRead = random.isTrue(0.4);
    for (let left = random.integer(1, 9); left > 0; left--) {
      const key = `K-${random.integer(1, ways.keys)}`;
      const line = randomLine(random, cursor, {table, hasRead, key});
      lines.push(ways.isKeyed ? nameByKey(line, key) : line);
    }
  }
  return lines.slice(0, ways.many);
}

function nameByKey({number: _number, ...line}: RandomLine, key: string): object {
  return {
    ...line,
    external_key: key,
    ...(line.operation === 'delete' ? {operation: 'update', fields: {name: 'd'}} : {}),
    ...(line.parent === undefined ? {} : {parent: {external_key: key}}),
  };
}

interface RandomLine {
  readonly table: string;
  readonly operation: string;
  readonly number?: number;
  readonly parent?: object;
}

interface Burst {
  readonly table: string;
  readonly key: string;
  /** Whether each line says what its author had read of the row. */
  readonly hasRead: boolean;
}

function randomLine(random: Random, cursor: string, {table, key, hasRead}: Burst): RandomLine {
  const number = {customers: 1, jobs: 11, tasks: 61}[table] ?? 0;
  const named = random.pick<object>([
    {external_key: key},
    {external_key: key},
    {number: number + random.integer(0, 4)},
  ]);
  const operation = hasRead
    ? random.pick(['update', 'update', 'update', 'delete'])
    : random.pick(['upsert', 'upsert', 'upsert', 'upsert', 'update', 'create', 'delete']);
  const isKeyed = operation === 'upsert' || operation === 'create';
  const more = {
    ...(random.isTrue(0.05) ? {hold: true} : {}),
    ...(!hasRead && random.isTrue(0.1) ? {seen: random.pick([cursor, cursor, 'x'])} : {}),
    ...(hasRead ? {was: randomFields(random, table)} : {}),
    ...(operation === 'delete' ? {} : {fields: randomFields(random, table)}),
    ...(isKeyed && table === 'jobs'
      ? {parent: random.pick<object>([{number: 1}, {external_key: key}, {number: 2}])}
      : {}),
    ...(operation === 'update' && random.isTrue(0.1)
      ? {number: number + random.integer(0, 2), external_key: random.pick([key, null])}
      : {}),
  };
  return {table, operation, ...(isKeyed ? {external_key: key} : named), ...more};
}

function randomFields(random: Random, table: string): object {
  const text = random.pick(['a', 'b', 'c']);
  const time = random.pick<string | null>(['2027-01-31 09:00', '2027-03-14 02:30', null]);
  const own: Record<string, readonly [object, ...object[]]> = {
    customers: [{phone_number: text}, {phone_number: null}, {fax: text, email_address: text}],
    jobs: [{scheduled_on: time}, {employee_ids: random.pick([['501'], ['502', '501'], []])}],
    tasks: [{scheduled_at: time}, {description: random.pick([text, null])}],
  };
  const name = {name: random.isTrue(0.05) ? ' ' : text};
  return {
    ...(random.isTrue(0.8) ? name : {}),
    ...(random.isTrue(0.6) ? random.pick(own[table] ?? [{}]) : {}),
    ...(random.isTrue(0.02) ? {nmae: 'x'} : {}),
  };
}

/**
 * What came of lines, whatever numbers rows and changes were given. A change that a later line of
 * its transaction takes back is answered as cancelled.
 */
export async function readOutcome(place: Place, answers: readonly Line[]) {
  const read = async (query: string) => {
    const {rows} = await place.pool.query(query);
    return rows.map((row) => JSON.stringify(row)).sort();
  };
  const keyOf = (table: string, row: string) =>
    `(SELECT key FROM sync.links
       WHERE table_name = ${table} AND row_id = ${row} AND until IS NULL)`;
  const own = ['_deleted_at', '_first_seen_at', '_changed_at', 'row_id', 'parent_row_id']
    .map((name) => ` - '${name}'`)
    .join('');
  const rows = ['customers', 'jobs', 'tasks', 'job_employees'].map(
    (
      table,
    ) => `SELECT '${table}' AS name, to_jsonb(held) ${own} AS held, _deleted_at IS NULL AS lives,
      ${keyOf(`'${table}'`, 'held.row_id')} AS link,
      (SELECT coalesce(external_key, customer_number::text) FROM warehouse.customers AS parent
        WHERE parent.row_id = held.parent_row_id AND '${table}' = 'jobs') AS parent
       FROM warehouse.${table} AS held`,
  );
  const without = ({change_id: changeId, row_id: _row, line: _line, ...rest}: Line) => {
    const text = JSON.stringify({...rest, isChanged: changeId !== null});
    return text.replace(/\b(row|change) \d+/g, '$1 N').replace('"cancelled"', '"pending"');
  };
  return {
    answers: answers.map(without),
    rows: await read(rows.join(' UNION ALL ')),
    changes: await read(
      `SELECT table_name, operation, state, fields, base, seen, reason, number, external_key,
              waits_for IS NOT NULL AS waits,
              ${keyOf('changes.table_name', 'changes.row_id')} AS link,
              row_number() OVER (PARTITION BY table_name, row_id ORDER BY change_id) AS nth
         FROM sync.changes`,
    ),
    entries: await read(
      'SELECT table_name, operation, count(*) FROM sync.feed_entries GROUP BY 1, 2',
    ),
    versions: await read(
      `SELECT (SELECT count(*) FROM history.past_customers) AS customers,
              (SELECT count(*) FROM history.past_jobs) AS jobs,
              (SELECT count(*) FROM history.past_tasks) AS tasks`,
    ),
  };
}
