import type pg from 'pg';
import {from} from 'pg-copy-streams';

/**
 * Sends rows in COPY's text format.
 * @param statement - `COPY … FROM STDIN`
 * @throws what Postgres says; the connection stays usable, its transaction does not
 */
export async function copyInto(client: pg.ClientBase, statement: string, text: string): Promise<void> {
  const stream = client.query(from(statement));
  await new Promise<void>((resolve, reject) => {
    stream.once('finish', resolve).once('error', reject);
    stream.end(Buffer.from(text, 'utf8'));
  });
}
