import type pg from 'pg';

const usualRows = 10_000;

/**
 * Yields the rows of a query some at a time, so that never all of them are in memory. One such
 * query a transaction.
 */
export async function* readByCursor<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: string,
  values: readonly unknown[],
  rowsAtOnce = usualRows,
): AsyncGenerator<readonly R[]> {
  await client.query(`DECLARE some_rows NO SCROLL CURSOR FOR ${query}`, [...values]);
  for (;;) {
    const {rows} = await client.query<R>(`FETCH ${rowsAtOnce} FROM some_rows`);
    yield rows;
    if (rows.length < rowsAtOnce) return;
  }
}
