import type pg from 'pg';
import {from} from 'pg-copy-streams';

/**
 * Sends rows in COPY's text format.
 * @param statement - `COPY … FROM STDIN`, and statements around it that go with it in one round
 *   trip
 * @param lines - in UTF-8
 * @throws what Postgres says; the connection stays usable, its transaction does not
 */
export async function copyInto(
  client: pg.ClientBase,
  statement: string,
  lines: Buffer,
): Promise<void> {
  const stream = client.query(from(statement));
  await new Promise<void>((resolve, reject) => {
    stream.once('finish', resolve).once('error', reject);
    stream.end(lines);
  });
}
