import type pg from 'pg';
import {NumberSet} from '../core/number-set.ts';
import {readByCursor} from '../postgres/cursor.ts';
import {inTransaction} from '../postgres/database.ts';
import {type GoneAnswers, toValues} from './tombstones.ts';

interface Scope {
  readonly accountId: string;
  readonly stream: string;
}

/** Remembers numbers of which the service has no record: they are asked for once. */
export async function rememberAbsent(client: pg.ClientBase, found: GoneAnswers): Promise<void> {
  if (found.gone.length === 0) return;
  await client.query(
    `INSERT INTO sync.absent_numbers (account_id, stream, sweep_id, asked_at, number, status, words)
     SELECT $1, $2, $3, $4, gone.* FROM unnest($5::bigint[], $6::integer[], $7::text[]) AS gone (number, status, words)
         ON CONFLICT (account_id, stream, number) DO NOTHING`,
    toValues(found),
  );
}

/** Forgets that numbers were absent: their records came after all. */
export async function forgetAbsent(
  client: pg.ClientBase,
  came: Scope & {readonly numbers: readonly string[]},
): Promise<void> {
  await client.query(
    'DELETE FROM sync.absent_numbers WHERE account_id = $1 AND stream = $2 AND number = ANY ($3::bigint[])',
    [came.accountId, came.stream, came.numbers],
  );
}

/** Reads the numbers remembered as absent. */
export async function readAbsent(pool: pg.Pool, {accountId, stream}: Scope): Promise<NumberSet> {
  const query = 'SELECT number FROM sync.absent_numbers WHERE account_id = $1 AND stream = $2';
  return await inTransaction(pool, async (client) => {
    const absent = new NumberSet();
    for await (const rows of readByCursor<{number: string}>(client, query, [accountId, stream])) {
      for (const {number} of rows) absent.add(number);
    }
    return absent;
  });
}
