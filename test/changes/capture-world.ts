import pg from 'pg';
import {inject} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {allTables} from '../../src/streams/all.ts';
import type {MirrorTable} from '../../src/streams/table.ts';
import {createDatabase} from '../support/postgres.ts';

export const timeZone = 'America/New_York';

type Values = Readonly<Record<string, unknown>>;
type Row = Record<string, unknown>;

/** A warehouse with one account, in which rows are changed. */
export interface CaptureWorld {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly accountId: string;
  /** Runs statements as an author does. @returns the rows of the last one */
  author(text: string, values?: unknown[]): Promise<Row[]>;
  /**
   * Runs statements in one transaction, as a role or as the owner. @returns the rows of the last
   * one
   */
  as(role: string | null, text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs a statement as a sweep does. */
  sweep(text: string, values?: unknown[]): Promise<Row[]>;
  /** Puts a row there that the service sent. @returns its row_id */
  sent(table: string, values: Values): Promise<string>;
  /** The changes in their order, with these columns only. */
  changes(columns?: string): Promise<Row[]>;
  /** One row by its row_id. */
  row(table: string, rowId: unknown, columns?: string): Promise<Row | undefined>;
  /** Removes every row and every change. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function openCaptureWorld(zone = timeZone): Promise<CaptureWorld> {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 6, applicationName: 'erp'});
  const account = {name: 'acme', apiUrl: 'https://example.com/acme', timeZone: zone};
  const {accountId} = await upsertAccount(pool, account);
  const author: CaptureWorld['author'] = async (text, values) =>
    lastOf(await pool.query(text, values)).rows;
  const sweep: CaptureWorld['sweep'] = (text, values) =>
    inSweepTransaction(pool, async (client) => (await client.query(text, values)).rows);
  return {
    url: database.url,
    pool,
    accountId,
    author,
    sweep,
    as: async (role, text, values) => {
      const client = await pool.connect();
      try {
        await client.query(`BEGIN; ${role === null ? '' : `SET LOCAL ROLE ${role}`}`);
        const {rows} = lastOf(await client.query(text, values));
        await client.query('COMMIT');
        return rows;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    sent: async (table, values) => {
      const row = {account_id: accountId, _sweep_id: 1, _hash: Buffer.from('00', 'hex'), ...values};
      const names = Object.keys(row).map((name) => pg.escapeIdentifier(name));
      const [sent] = await sweep(
        `INSERT INTO warehouse.${table} (${names.join(', ')})
          VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})
         RETURNING row_id`,
        Object.values(row),
      );
      return String(sent?.row_id);
    },
    changes: (columns = 'table_name, operation, fields, base, state') =>
      author(`SELECT ${columns} FROM sync.changes ORDER BY change_id`),
    row: async (table, rowId, columns = '*') =>
      (await author(`SELECT ${columns} FROM warehouse.${table} WHERE row_id = $1`, [rowId]))[0],
    empty: async () => {
      const warehouse = allTables.flatMap(({name}) => [
        `warehouse.${name}`,
        `history.past_${name}`,
      ]);
      const others = ['sync.changes', 'sync.known_records', 'history.edits'];
      const removals = [...warehouse, ...others].map((name) => `DELETE FROM ${name}`);
      // No trigger runs, and no file has to be made, as with TRUNCATE.
      await author(`BEGIN; SET LOCAL session_replication_role = 'replica'; ${removals.join('; ')};
        COMMIT;
                    DELETE FROM sync.attempts; DELETE FROM sync.alterations;
                      DELETE FROM sync.conflicts`);
    },
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

const samples = {
  text: 'x',
  integer: '7',
  decimal: '1',
  boolean: 'true',
  instant: '2026-05-05T10:00:00+00:00',
  ids: '',
  secret: '',
};

/**
 * The fields without which the service takes no new row of a table, with values as a change keeps
 * them.
 */
export function neededBy({writable}: Pick<MirrorTable, 'writable'>): Record<string, string> {
  const needed = writable.filter(({isRequired, onCreate}) => isRequired === true && onCreate);
  return Object.fromEntries(needed.map(({name, kind}) => [name, samples[kind]]));
}

/** The statements with which a worker claims a change, and marks it as sent. */
export const claim = `UPDATE sync.changes SET fence = fence + 1,
  lease_until = now() + interval '1 minute' WHERE change_id = $1`;
export const send = `UPDATE sync.changes SET state = 'sending', sends = sends + 1, sent_at = now(),
  fence = fence + 1,
                            lease_until = now() + interval '1 minute' WHERE change_id = $1`;

/** Returns the last result: several statements in one text have one each. */
function lastOf(result: pg.QueryResult | pg.QueryResult[]): pg.QueryResult {
  if (!Array.isArray(result)) return result;
  const last = result.at(-1);
  if (last === undefined) throw new Error('a text without a statement');
  return last;
}

/** Sends a change, and puts it in conflict over fields of which the service holds these values. */
export async function putInConflict(
  {author}: Pick<CaptureWorld, 'author'>,
  id: unknown,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  await author(send, [id]);
  await author(
    `UPDATE sync.changes SET state = 'conflict', reason = 'both', lease_until = NULL
      WHERE change_id = $1`,
    [id],
  );
  for (const [field, value] of Object.entries(values))
    await author(
      `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value,
        rule)
       SELECT change_id, $2, base->$2, coalesce(fields->$2, base->$2), $3, 'ask' FROM sync.changes
       WHERE change_id = $1`,
      [id, field, JSON.stringify(value)],
    );
}
