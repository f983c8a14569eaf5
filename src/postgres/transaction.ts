import pg from 'pg';
import {RetryableError} from '../core/errors.ts';

/** read_only_sql_transaction */
const readOnly = '25006';

/**
 * Runs `work` once, in one transaction on one connection, and commits it, or leaves no trace.
 * @param begin - the statement that begins it
 * @throws the error of `work` or of the database, as it came
 */
export async function runTransaction<T>(
  pool: pg.Pool,
  begin: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(begin);
    const result = await work(client);
    await commit(client);
    client.release();
    return result;
  } catch (error) {
    client.release(isReadOnly(error) ? error : await rollBack(client));
    throw error;
  }
}

/**
 * Postgres answers the COMMIT of a transaction that has failed with ROLLBACK, and calls it a
 * success.
 */
async function commit(client: pg.PoolClient): Promise<void> {
  const {command} = await client.query('COMMIT');
  if (command === 'COMMIT') return;
  throw new RetryableError(
    `transaction: expected COMMIT, got ${command}: a statement in it had failed unnoticed, so nothing was written`,
  );
}

/**
 * A session that began while its database was read-only stays so when the database takes writes
 * again: only a new one can write.
 */
function isReadOnly(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && error.code === readOnly;
}

/** The error that bars the connection from further use; nothing when the rollback went well. */
async function rollBack(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('ROLLBACK failed', {cause: error});
  }
}
