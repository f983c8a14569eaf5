import type pg from 'pg';
import type {Sweep} from '../warehouse/sweep.ts';
import {renewLease} from '../warehouse/sweeps.ts';

/**
 * Does the work while the sweep's lease is renewed beside it. The signal given to the work aborts when the caller's
 * does, or when the lease was lost to somebody else.
 */
export async function holdLease<T>(
  pool: pg.Pool,
  sweep: Sweep,
  hold: {
    readonly leaseMs: number;
    readonly signal: AbortSignal;
    readonly work: (signal: AbortSignal) => Promise<T>;
  },
): Promise<T> {
  const {leaseMs} = hold;
  const lost = new AbortController();
  const renewal = setInterval(async () => {
    // A failed renewal is no loss yet: the fence decides with the next batch, and the next renewal may succeed.
    const isHeld = await renewLease(pool, {sweepId: sweep.sweepId, fence: sweep.fence, leaseMs}).catch(
      () => true,
    );
    if (!isHeld) lost.abort(new Error(`sweep ${sweep.sweepId}: another worker has taken it over`));
  }, leaseMs / 3);
  try {
    return await hold.work(AbortSignal.any([hold.signal, lost.signal]));
  } finally {
    clearInterval(renewal);
  }
}
