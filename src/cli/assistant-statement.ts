// SQL of an assistant. What it may read is decided by the role that its statement runs as, and by
// the account that the transaction is bound to (migrations/functions/access/assistant.sql), not
// here. Here and in allowed.ts it is decided what the statement may be made of.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {checkAllowed} from './assistant-allowed.ts';

export interface Limits {
  readonly rows: number;
  readonly bytes: number;
  readonly ms: number;
}

export interface Rows {
  readonly rows: readonly unknown[];
  /** True where there are more than the limits. */
  readonly isCutOff: boolean;
}

export interface Bound {
  /** The account whose rows are shown. */
  readonly accountId: string;
  /** Whether the names of people are told. */
  readonly isPersonal: boolean;
}

/**
 * Runs a statement, on a session that nothing of it outlives.
 * @throws {UsageError} what is wrong with the statement, in words for whoever wrote it
 */
export async function runStatement(
  pool: pg.Pool,
  statement: string,
  {accountId, isPersonal}: Bound,
  limits: Limits,
): Promise<Rows> {
  const client = await pool.connect();
  try {
    const sql = statement.trim().replace(/;\s*$/, '');
    await inspect(client, sql);
    await client.query('BEGIN READ WRITE');
    await client.query('SELECT sync.bind_assistant($1, $2)', [accountId, isPersonal]);
    await client.query('SET TRANSACTION READ ONLY');
    // One process for a bounded time: sweeps have the others. A client that stands still holds no
    // snapshot.
    await client.query(
      `SELECT set_config(name, value, true) FROM (VALUES ('statement_timeout', $1), ('idle_in_transaction_session_timeout', $1),
         ('lock_timeout', '2s'), ('jit', 'off'), ('max_parallel_workers_per_gather', '0')) AS settings (name, value)`,
      [String(limits.ms)],
    );
    const {rows} = await client.query<{told: unknown}>(
      'SELECT told FROM sync.read_as_assistant($1, $2, $3) AS told',
      [sql, limits.rows, limits.bytes],
    );
    const found = rows.map(({told}) => told).filter((told) => told !== null);
    return {rows: found, isCutOff: found.length < rows.length};
  } catch (error) {
    throw explainRefusal(error, limits);
  } finally {
    await client.query('ROLLBACK').catch(() => {});
    // A session that a statement has run in is not used again.
    client.release(true);
  }
}

/**
 * Lets Postgres read the statement as a view, which takes one SELECT alone, and looks at what it is
 * made of. Nothing of it runs. Names are looked for where the function that reads looks for them.
 */
async function inspect(client: pg.ClientBase, sql: string): Promise<void> {
  await client.query(
    `BEGIN; SET LOCAL search_path = masked, mart, pg_catalog, pg_temp; SET LOCAL statement_timeout = '5s'; SET LOCAL lock_timeout = '2s'`,
  );
  try {
    // With a list of values pg sends one statement alone: a second one is refused.
    await client.query({
      text: `CREATE TEMP VIEW asked_by_assistant AS\n${sql}\n`,
      queryMode: 'extended',
    } as pg.QueryConfig);
    await checkAllowed(client);
  } finally {
    await client.query('ROLLBACK');
  }
}

function explainRefusal(error: unknown, {ms}: Limits): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const said = error.message;
  if (error.code === '57014')
    return new UsageError(`the statement took longer than ${ms / 1000} s: ask for less, by dates`, {
      cause: error,
    });
  if (error.code === '55P03')
    return new UsageError('a table of the star is being made anew: ask again in a minute', {
      cause: error,
    });
  if (error.code === '42501')
    return new UsageError(
      `${said}: an assistant reads the star alone, by the names of its tables without a schema; the tool definitions lists them`,
      {cause: error},
    );
  if (error.code === '42601')
    return new UsageError(`${said}: expected one SELECT or WITH … SELECT, and nothing after it`, {
      cause: error,
    });
  return new UsageError(error.hint === undefined ? said : `${said} (${error.hint})`, {
    cause: error,
  });
}
