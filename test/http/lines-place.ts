// Many changes, a client that asks for lines, and another session that holds one of the changes.

import pg from 'pg';
import {linesType} from '../../src/http/problem.ts';
import type {Place} from './place.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a stranger reads from JSON
export type Line = any;

/** So many pending changes. @returns their numbers, ascending */
export async function makePending(place: Place, count: number): Promise<string[]> {
  const {rows} = await place.pool.query<{id: string}>(
    `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base)
     SELECT $1, 'tasks', 1000000 + at, 'update', 1000000 + at, '{"name": "x"}', '{"name": "y"}'
     FROM generate_series(1, $2::int) AS at
     RETURNING change_id AS id`,
    [place.account.accountId, count],
  );
  return rows.map(({id}) => id);
}

interface Asking {
  readonly accept?: string;
  readonly signal?: AbortSignal;
  readonly verb?: 'decide' | 'undo';
}

/** Asks for decisions, or for changes to be taken back. */
export async function ask(
  place: Place,
  body: unknown,
  {accept = linesType, signal, verb = 'decide'}: Asking = {},
) {
  return await fetch(`${place.url}/v1/changes/${verb}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${place.keys.writer}`,
      'content-type': 'application/json',
      accept,
    },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : {signal}),
  });
}

/** The documents of an answer, a line each. */
export const parseLines = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** Numbers of the changes in a state, ascending. */
export async function idsIn(place: Place, state: string): Promise<string[]> {
  const {rows} = await place.pool.query<{id: string}>(
    'SELECT change_id AS id FROM sync.changes WHERE state = $1 ORDER BY change_id',
    [state],
  );
  return rows.map(({id}) => id);
}

/** The audit, from its beginning. */
export async function listAudited(place: Place): Promise<Line[]> {
  return (await place.pool.query('SELECT * FROM sync.audit ORDER BY audit_id')).rows;
}

/** Does some work while another transaction holds a change. */
export async function whileHeld(
  place: Place,
  changeId: string | undefined,
  work: (letGo: () => Promise<void>) => Promise<void>,
) {
  const rows = `sync.changes WHERE change_id = ${changeId}`;
  await whileRowsHeld(place, rows, work);
}

/** Does some work while another transaction holds rows. @param rows - SQL after FROM */
export async function whileRowsHeld(
  place: Place,
  rows: string,
  work: (letGo: () => Promise<void>) => Promise<void>,
) {
  const holder = new pg.Client(place.databaseUrl);
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM ${rows} FOR UPDATE`);
    await work(async () => void (await holder.query('ROLLBACK')));
  } finally {
    await holder.end();
  }
}

/** Reads so many lines and leaves the rest. */
export async function readLines(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  count: number,
): Promise<Line[]> {
  const decoder = new TextDecoder();
  let text = '';
  while (text.split('\n').length <= count) {
    const {value, done} = await reader.read();
    if (done) break;
    text += decoder.decode(value, {stream: true});
  }
  return parseLines(text);
}
