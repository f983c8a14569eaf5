// Rows by the thousand, written by SQL past all triggers, to see what a statement reads of them.

import type pg from 'pg';
import {inject} from 'vitest';
import {createDatabase} from './postgres.ts';
import {openPlainPool} from './with-client.ts';

/** A new warehouse with one account, acme, whose number is 1. */
export async function openEmptyWarehouse() {
  const {url, drop} = await createDatabase(inject('warehouseTemplate'));
  const pool = openPlainPool(url, {max: 1});
  await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
     VALUES ('acme', 'https://example.com/acme', 'UTC')`,
  );
  const close = async () => {
    await pool.end();
    await drop();
  };
  return {url, pool, close};
}

/** The pages of tables and indexes that a statement reads, from memory or from disk. */
export async function countPages(
  db: Pick<pg.Pool, 'query'>,
  statement: string,
  values: readonly unknown[] = [],
): Promise<number> {
  const {rows} = await db.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`, [
    ...values,
  ]);
  const {Plan: plan} = rows[0]['QUERY PLAN'][0];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** Counts the pages that each statement of a reading reads, in their order. */
export async function countPagesOf(
  pool: pg.Pool,
  read: (db: pg.Pool) => Promise<unknown>,
): Promise<{text: string; pages: number}[]> {
  const counted: {text: string; pages: number}[] = [];
  const counting: pg.Pool = Object.assign(Object.create(pool), {
    query: async (text: string, values?: unknown[]) => {
      const pages = await countPages(pool, text, values);
      counted.push({text: text.replaceAll(/\s+/g, ' '), pages});
      return await pool.query(text, values);
    },
  });
  await read(counting);
  return counted;
}

/** Adds up the pages of all statements. */
export function sumPages(counted: readonly {readonly pages: number}[]): number {
  return counted.reduce((total, {pages}) => total + pages, 0);
}

/** Runs statements on tables whose triggers rest. */
export async function writePastTriggers(
  db: Pick<pg.Pool, 'query'>,
  tables: readonly string[],
  statements: readonly string[],
): Promise<void> {
  const each = (what: string) => tables.map((table) => `ALTER TABLE ${table} ${what} TRIGGER USER`);
  const all = [...each('DISABLE'), ...statements, ...each('ENABLE')];
  await db.query(`BEGIN; ${all.join('; ')}; COMMIT`);
  for (const table of tables) await db.query(`VACUUM ANALYZE ${table}`);
}
