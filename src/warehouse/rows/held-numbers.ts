import type pg from 'pg';
import {NumberSet} from '../../base/number-set.ts';
import {readByCursor} from '../postgres/cursor.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import type {MirrorTable} from './mirror-table.ts';
import {keyOf, nameTable} from './table-sql.ts';

/** The numbers of a stream that this warehouse knows of. */
export interface HeldNumbers {
  /** Of rows that live. */
  readonly live: NumberSet;
  /** Of rows marked deleted. */
  readonly deleted: NumberSet;
}

/** Reads which numbers an account's rows have. Rows without a number were authored here and are none of the service's. */
export async function readHeldNumbers(
  pool: pg.Pool,
  accountId: string,
  table: MirrorTable,
): Promise<HeldNumbers> {
  const key = keyOf(table);
  const query = `SELECT ${key} AS number, _deleted_at IS NULL AS "isLive" FROM ${nameTable(table)}
                  WHERE account_id = $1 AND ${key} IS NOT NULL`;
  return await inTransaction(pool, async (client) => {
    const held = {live: new NumberSet(), deleted: new NumberSet()};
    for await (const rows of readByCursor<{number: string; isLive: boolean}>(client, query, [accountId])) {
      for (const {number, isLive} of rows) (isLive ? held.live : held.deleted).add(number);
    }
    return held;
  });
}

/** True when a row of that number lives here. */
export async function isLive(
  db: Queryable,
  accountId: string,
  {table, number}: {readonly table: MirrorTable; readonly number: string},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `SELECT FROM ${nameTable(table)} WHERE account_id = $1 AND ${keyOf(table)} = $2 AND _deleted_at IS NULL`,
    [accountId, number],
  );
  return rowCount === 1;
}
