import pg from 'pg';
import type {Random} from '../../../src/service/vocabulary.ts';
import type {Write} from './written.ts';

const longestMs = 12;
const rollbackShare = 0.1;

interface WriterPlan {
  readonly url: string;
  readonly name: string;
  readonly transactions: number;
  /** The rows that all writers share. */
  readonly rowIds: readonly string[];
  readonly random: Random;
}

/**
 * Commits transactions one after the other, each of one to three writes, with a delay somewhere in
 * it; some are rolled back.
 * @returns what was committed
 */
export async function runWriter({
  url,
  name,
  transactions,
  rowIds,
  random,
}: WriterPlan): Promise<Write[]> {
  const client = new pg.Client({connectionString: url});
  await client.connect();
  const committed: Write[] = [];
  try {
    for (let at = 0; at < transactions; at++) {
      const written = await runTransaction(client, {label: `${name}.${at}`, rowIds, random});
      const isGivenUp = random.isTrue(rollbackShare);
      const committedAt = performance.now();
      await client.query(isGivenUp ? 'ROLLBACK' : 'COMMIT');
      if (!isGivenUp) committed.push(...written.map((write) => ({...write, committedAt})));
    }
  } finally {
    await client.end();
  }
  return committed;
}

async function runTransaction(
  client: pg.Client,
  {label, rowIds, random}: Pick<WriterPlan, 'rowIds' | 'random'> & {readonly label: string},
): Promise<Write[]> {
  await client.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'`);
  // Rows are locked in one order, so that no two transactions wait for each other.
  const chosen = [
    ...new Set(
      Array.from({length: random.integer(1, 3)}, () => random.integer(0, rowIds.length - 1)),
    ),
  ].sort((a, b) => a - b);
  const written: Write[] = [];
  for (const [place, index] of chosen.entries()) {
    const seen = rowIds[random.integer(0, rowIds.length - 1)];
    const {rows} = await client.query<{name: string | null}>(
      'SELECT name FROM warehouse.tasks WHERE row_id = $1',
      [seen],
    );
    const token = `${label}.${place}`;
    const rowId = rowIds[index] ?? '';
    await client.query('UPDATE warehouse.tasks SET name = $2 WHERE row_id = $1', [rowId, token]);
    written.push({token, rowId, cause: rows[0]?.name ?? null});
    await client.query('SELECT pg_sleep($1)', [
      random.isTrue(0.5) ? 0 : (random.next() * longestMs) / 1_000,
    ]);
  }
  return written;
}
