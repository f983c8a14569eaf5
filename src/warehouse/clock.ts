import type {Queryable} from './database.ts';

/** How far the database's clock is ahead of this machine's, in milliseconds; half of the way there and back is uncertain. */
export async function readClockAheadMs(db: Queryable): Promise<number> {
  const before = Date.now();
  const {rows} = await db.query<{ms: number}>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
  );
  return Number(rows[0]?.ms) - (before + Date.now()) / 2;
}

/** `10.0 s ahead of this machine` */
export function describeAhead(aheadMs: number): string {
  return `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`;
}
