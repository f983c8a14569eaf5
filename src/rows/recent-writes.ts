// Changes that were done a short while ago: a reading from the service may be older than they are.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {MirrorTable} from '../streams/table.ts';

/**
 * As SQL, the recent changes that match a condition on `own`, in their order, as JSON. A value that
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
 * As SQL, the recent changes of a row of a table; null if its account has no recent change at all.
 */
export function recentWritesOf({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return 'NULL::jsonb';
  return `CASE WHEN ${hasRecentChange('$1')} THEN ${recentWrites(isChangeOf(name, row))} END`;
}

/**
 * As SQL, whether a change that was done a short while ago wrote the current version of the row.
 */
export function isWrittenLately(row: string): string {
  return `EXISTS (SELECT FROM sync.changes AS own WHERE own.change_id = ${row}._change_id
            AND own.settled_at > now() - ${lagLimit})`;
}

/**
 * As SQL, whether a change made the row a short while ago; for a table without writable fields,
 * whether one has written the row then.
 */
export function isMadeLately({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return isWrittenLately(row);
  return `EXISTS (SELECT FROM sync.changes AS own WHERE ${isChangeOf(name, row)}
            AND own.operation = 'create' AND own.state = 'done'
                     AND own.settled_at > now() - ${lagLimit})`;
}

/**
 * As SQL, whether a change of the row is open; for a table without writable fields, whether one may
 * be open.
 */
export function hasOpenChange({name, writable}: MirrorTable, row: string): string {
  if (writable.length === 0) return `${row}._pending IS NOT NULL`;
  return `EXISTS (SELECT FROM sync.changes AS own WHERE ${isChangeOf(name, row)} AND own.is_open)`;
}

/**
 * How long ago our creates made some records, in milliseconds; absent if that is not a short while
 * ago.
 */
export async function readMadeAgoMs(
  db: Queryable,
  records: {
    readonly accountId: string;
    readonly table: string;
    readonly numbers: readonly string[];
  },
): Promise<ReadonlyMap<string, number>> {
  if (records.numbers.length === 0) return new Map();
  const {rows} = await db.query<{number: string; agoMs: number}>(
    `SELECT number, extract(epoch FROM now() - settled_at)::double precision * 1000 AS "agoMs"
       FROM sync.changes
      WHERE account_id = $1 AND table_name = $2 AND number = ANY ($3::bigint[])
        AND operation = 'create' AND state = 'done'
        AND settled_at > now() - ${lagLimit}`,
    [records.accountId, records.table, records.numbers],
  );
  return new Map(rows.map(({number, agoMs}) => [number, agoMs]));
}

const isChangeOf = (table: string, row: string) =>
  `own.row_id = ${row}.row_id AND own.table_name = ${pg.escapeLiteral(table)}`;

const hasRecentChange = (account: string) =>
  `(SELECT EXISTS (SELECT FROM sync.changes AS any_of WHERE any_of.account_id = ${account}
    AND any_of.settled_at > now() - ${lagLimit}))`;

/**
 * A service may answer reads from a copy of its records that lags behind. A reading made within
 * this time after one of our confirmed writes may be older than the write, if it shows the previous
 * value. Later than this, a reading counts as it is.
 */
export const lagLimitMs = 60_000;

/** The same limit as SQL. */
const lagLimit = `interval '${lagLimitMs} milliseconds'`;
