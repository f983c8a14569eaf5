import type {Queryable} from '../postgres/database.ts';
import type {Sweep} from '../sweeps/sweep.ts';

/** What sweeps like this one usually take, by the last ten before it; null where there was none. */
export interface UsualSweep {
  readonly seconds: number;
  readonly requests: number;
  readonly records: number;
  readonly changed: number;
}

/** Reads the medians of the ten sweeps before one, of the same stream, mode and window, that came to an end without failing. */
export async function readUsual(
  db: Queryable,
  {
    sweepId,
    accountId,
    stream,
    mode,
    windowName,
  }: Pick<Sweep, 'sweepId' | 'accountId' | 'stream' | 'mode' | 'windowName'>,
): Promise<UsualSweep | null> {
  const median = (value: string) => `percentile_disc(0.5) WITHIN GROUP (ORDER BY ${value})`;
  const {rows} = await db.query<UsualSweep & {count: number}>(
    `SELECT count(*)::integer AS count, ${median('extract(epoch FROM ended_at - started_at)')} AS seconds,
            ${median('requests')} AS requests, ${median('records')} AS records,
            ${median('inserted + updated + revived + tombstoned')} AS changed
       FROM (SELECT started_at, ended_at, requests, records, inserted, updated, revived, tombstoned FROM sync.sweeps
              WHERE account_id = $1 AND stream = $2 AND mode = $3 AND window_name IS NOT DISTINCT FROM $4 AND sweep_id < $5
                AND state IN ('certified', 'refreshed', 'uncertified')
              ORDER BY sweep_id DESC LIMIT 10) AS before`,
    [accountId, stream, mode, windowName, sweepId],
  );
  const [usual] = rows;
  return usual === undefined || usual.count === 0 ? null : usual;
}
