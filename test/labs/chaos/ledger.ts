// Authors whose Postgres crashes must know their commits: each transaction leaves its own name in a
// table of theirs, and where the answer to the COMMIT is lost the name is looked for.

import {randomUUID} from 'node:crypto';
import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {openPlainPool} from '../../support/with-client.ts';

const triesMs = 250;
const mostTries = 400;

/** A pool whose transactions are certain: a COMMIT either returns or has left nothing. */
export async function openLedger(databaseUrl: string, max: number): Promise<pg.Pool> {
  const reader = openPlainPool(databaseUrl, {max: 2});
  await reader.query('CREATE SCHEMA IF NOT EXISTS authors');
  await reader.query('CREATE TABLE IF NOT EXISTS authors.acts (act uuid PRIMARY KEY)');
  const pool = openPlainPool(databaseUrl, {max, application_name: 'author'});
  pool.on('connect', (client) => {
    client.on('error', () => {});
    keepCertain(client, reader);
  });
  const end = pool.end.bind(pool);
  return Object.assign(pool, {
    end: async () => {
      await end();
      await reader.end();
    },
  });
}

function keepCertain(client: pg.ClientBase, reader: pg.Pool): void {
  const query: (text: string, values?: unknown[]) => Promise<pg.QueryResult> =
    client.query.bind(client);
  const commit = async () => {
    const act = randomUUID();
    await query('INSERT INTO authors.acts VALUES ($1)', [act]);
    try {
      return await query('COMMIT');
    } catch (error) {
      if (await isKept(reader, act)) return;
      throw error;
    }
  };
  Object.assign(client, {
    query: (text: unknown, ...rest: unknown[]) => {
      if (text === 'COMMIT') return commit();
      if (text === 'ROLLBACK') return query('ROLLBACK').catch(() => {});
      return query(text as string, ...(rest as [unknown[]]));
    },
  });
}

async function isKept(reader: pg.Pool, act: string): Promise<boolean> {
  return await untilItAnswers(async () => {
    const {rowCount} = await reader.query('SELECT FROM authors.acts WHERE act = $1', [act]);
    return rowCount === 1;
  });
}

/** Asks a Postgres that may be away, again and again, until it answers. */
export async function untilItAnswers<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === mostTries) throw error;
      await wait(triesMs);
    }
  }
}
