// Changes that were done a short while ago: a reading of the service may be older than they are.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {MirrorTable} from '../streams/table.ts';

/**
 * As SQL, the recent changes that a condition on `own` picks, in their order, as JSON. A wish that
 * lost a conflict was not written, and has replaced nothing.
 */
export const recentWrites = (condition: string) => `
  coalesce((SELECT jsonb_agg(jsonb_build_object(
                     'operation', own.operation, 'base', own.base,
                     'fields', own.fields - ARRAY(
                       SELECT lost.field FROM sync.conflicts AS lost
                        WHERE lost.change_id = own.change_id AND lost.winner = 'service'
                          AND lost.warehouse_value = own.fields->lost.field),
                     'agoMs', extract(epoch FROM now() - own.settled_at) * 1000,
                     'made', coalesce(own.result->'altered', '{}')
                             || coalesce(own.result->'tidied', '{}')) ORDER BY own.change_id)
              FROM sync.changes AS own
             WHERE ${condition} AND own.state = 'done'
               AND own.settled_at > now() - ${lagLimit}), '[]')`;

/**
 * As SQL, the recent changes of a row of a table; null where its account has no recent change at
 * all.
 */
export function recentWritesOf({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return 'NULL::jsonb';
  return `CASE WHEN ${hasRecent('$1')} THEN ${recentWrites(isOf(name, row))} END`;
}

/** As SQL, whether a change that was done a short while ago has written the row as it is. */
export function isWrittenLately(row: string): string {
  return `EXISTS (SELECT FROM sync.changes AS own WHERE own.change_id = ${row}._change_id
            AND own.settled_at > now() - ${lagLimit})`;
}

/**
 * As SQL, whether a change made the row a short while ago; of rows that no change makes alone,
 * whether one has written it.
 */
export function isMadeLately({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return isWrittenLately(row);
  return `EXISTS (SELECT FROM sync.changes AS own WHERE ${isOf(name, row)}
            AND own.operation = 'create' AND own.state = 'done'
                     AND own.settled_at > now() - ${lagLimit})`;
}

/**
 * As SQL, whether a change of the row is open; of a row that no change makes alone, whether one may
 * be.
 */
export function hasOpenChange({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return `${row}._pending IS NOT NULL`;
  return `EXISTS (SELECT FROM sync.changes AS own WHERE ${isOf(name, row)} AND own.is_open)`;
}

/**
 * How long ago creates of ours have made some records, in milliseconds; absent where that is no
 * short while.
 */
export async function readMadeAgoMs(
  db: Queryable,
  asked: {readonly accountId: string; readonly table: string; readonly numbers: readonly string[]},
): Promise<ReadonlyMap<string, number>> {
  if (asked.numbers.length === 0) return new Map();
  const {rows} = await db.query<{number: string; agoMs: number}>(
    `SELECT number, extract(epoch FROM now() - settled_at)::double precision * 1000 AS "agoMs"
       FROM sync.changes
      WHERE account_id = $1 AND table_name = $2 AND number = ANY ($3::bigint[])
        AND operation = 'create' AND state = 'done'
        AND settled_at > now() - ${lagLimit}`,
    [asked.accountId, asked.table, asked.numbers],
  );
  return new Map(rows.map(({number, agoMs}) => [number, agoMs]));
}

const isOf = (table: string, row: string) =>
  `own.row_id = ${row}.row_id AND own.table_name = ${pg.escapeLiteral(table)}`;

const hasRecent = (account: string) =>
  `(SELECT EXISTS (SELECT FROM sync.changes AS any_of WHERE any_of.account_id = ${account}
    AND any_of.settled_at > now() - ${lagLimit}))`;

/**
 * A service may answer reads from a copy of its records that is behind. A reading taken so soon
 * after a write of ours that the service confirmed, and that shows the value from before, may be
 * older than the write. Later than this it counts as it is.
 */
export const lagLimitMs = 60_000;

/** The same limit as SQL. */
const lagLimit = `interval '${lagLimitMs} milliseconds'`;
