import type pg from 'pg';
import type {Queryable} from '../postgres/database.ts';

/**
 * Notes which numbers a sweep has seen since its last checkpoint, in the transaction that saves
 * this one.
 */
export async function insertSightings(
  client: pg.ClientBase,
  sighting: {readonly sweepId: string; readonly nextPage: number; readonly numbers: Buffer},
): Promise<void> {
  await client.query(
    `INSERT INTO sync.sightings AS held (sweep_id, next_page, numbers) VALUES ($1, $2, $3)
         ON CONFLICT (sweep_id, next_page) DO UPDATE SET numbers = EXCLUDED.numbers`,
    [sighting.sweepId, sighting.nextPage, sighting.numbers],
  );
}

/**
 * The numbers that a sweep has seen up to its checkpoint, one entry for each time they were noted.
 */
export async function readSightings(db: Queryable, sweepId: string): Promise<Buffer[]> {
  const {rows} = await db.query<{numbers: Buffer}>(
    'SELECT numbers FROM sync.sightings WHERE sweep_id = $1 ORDER BY next_page',
    [sweepId],
  );
  return rows.map((row) => row.numbers);
}
