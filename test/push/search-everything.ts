// Looks for texts wherever a run can have left them.

import {Redis} from 'ioredis';
import type pg from 'pg';
import {readPostgresLog} from '../support/postgres-log.ts';

/** The places in which a run can leave a text. */
export interface Haystack {
  readonly pool: pg.Pool;
  readonly redisUrl: string | null;
  readonly lines: readonly string[];
  /** Every error and refusal met. */
  readonly told: readonly string[];
}

/** Every form in which a secret can travel. */
export function formsOf(secret: string): string[] {
  const xml = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const basic = Buffer.from(`${secret}:${secret}`).toString('base64');
  const bytes = Buffer.from(secret);
  return [
    secret,
    xml,
    encodeURIComponent(secret),
    bytes.toString('base64'),
    bytes.toString('hex'),
    basic.replace(/=+$/, ''),
    JSON.stringify(secret).slice(1, -1),
  ];
}

/** The places that hold one of the texts, each named once. */
export async function findAnywhere(
  haystack: Haystack,
  texts: readonly string[],
): Promise<string[]> {
  const found = new Set<string>();
  const look = (where: string, hay: string) => {
    if (texts.some((text) => hay.includes(text))) found.add(where);
  };
  for (const line of haystack.lines) look('the log', line);
  for (const line of haystack.told) look('an error', line);
  look('the log of Postgres', await readPostgresLog());
  for (const {name, text} of await readTables(haystack.pool)) look(name, text);
  if (haystack.redisUrl !== null)
    for (const text of await readRedis(haystack.redisUrl)) look('Redis', text);
  return [...found].sort();
}

/** All rows of all tables of all schemas, those of the queue included; bytes as text, too. */
async function readTables(pool: pg.Pool): Promise<{name: string; text: string}[]> {
  const {rows} = await pool.query<{name: string; bytes: string[]}>(
    `SELECT format('%I.%I', table_schema, table_name) AS name,
            array(SELECT format('encode(%I, ''escape'')', column_name)
              FROM information_schema.columns AS c
                   WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name
                   AND data_type = 'bytea') AS bytes
       FROM information_schema.tables AS t
      WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
  );
  const tables: {name: string; text: string}[] = [];
  for (const {name, bytes} of rows) {
    const text = ['held::text', ...bytes].join(', ');
    const held = await pool.query<{text: string}>(
      `SELECT concat_ws(' ', ${text}) AS text FROM ${name} AS held`,
    );
    tables.push({name, text: held.rows.map((row) => row.text).join('\n')});
  }
  return tables;
}

async function readRedis(url: string): Promise<string[]> {
  const redis = new Redis(url);
  const texts: string[] = [];
  for (const key of await redis.keys('*')) {
    const reads: Record<string, () => Promise<unknown>> = {
      string: () => redis.get(key),
      hash: () => redis.hgetall(key),
      list: () => redis.lrange(key, 0, -1),
      set: () => redis.smembers(key),
      zset: () => redis.zrange(key, '0', '-1'),
      stream: () => redis.xrange(key, '-', '+'),
    };
    const read = reads[await redis.type(key)];
    if (read === undefined) throw new Error(`${key}: of a type that nobody reads`);
    for (const text of textsOf(await read())) texts.push(`${key} ${text}`);
  }
  redis.disconnect();
  return texts;
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, held]) => [key, ...textsOf(held)]);
}
