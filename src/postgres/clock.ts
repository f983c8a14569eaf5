import {FatalError} from '../core/errors.ts';
import type {Queryable} from './database.ts';

/**
 * More than the way to the database and back ever takes, less than would make a schedule or an age
 * wrong.
 */
const maxClockMs = 60_000;

/** The present moment by the clock of the database: ISO 8601 in UTC. */
export async function readNow(db: Queryable): Promise<string> {
  const {rows} = await db.query<{now: string}>('SELECT now() AS now');
  return rows[0]?.now ?? '';
}

/**
 * How many milliseconds the database's clock is ahead of this machine's, give or take half a round
 * trip.
 */
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

/**
 * Leases are by the database's clock; first schedules and the ages that we write are by ours.
 * @throws {FatalError} they are too far apart
 */
export async function refuseWrongClock(db: Queryable): Promise<void> {
  const aheadMs = await readClockAheadMs(db);
  if (Math.abs(aheadMs) <= maxClockMs) return;
  throw new FatalError(
    `Postgres' clock: expected at most ${maxClockMs / 1000} s apart from ours, got ${describeAhead(aheadMs)}; set both by NTP (timedatectl set-ntp true)`,
    {kind: 'clock'},
  );
}
