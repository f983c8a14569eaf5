// The one decision about a sweep that is a person's: whether the rows that it would mark deleted
// may go.

import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import type {Sweep} from './sweep.ts';
import {approveSweep} from './sweeps.ts';

/**
 * Lets the tombstones of a stopped sweep through.
 * @throws {UsageError} it is not stopped, or a later full sweep has come to its end
 */
export async function letThrough(db: Queryable, {sweepId, state, stream}: Sweep): Promise<Sweep> {
  if (state !== 'stopped')
    throw new UsageError(`sweep ${sweepId} is ${state}: only a stopped one waits for approval`);
  const approved = await approveSweep(db, sweepId);
  if (approved !== null) return approved;
  throw new UsageError(
    `sweep ${sweepId}: a later full sweep of ${stream} has come to its end: look at that one (fieldmirror sweeps list ${stream})`,
  );
}

/** What happens next. */
export function tellLetThrough({sweepId}: Sweep): string {
  return `sweep ${sweepId} is due again: it asks for each record once more, and marks deleted what is gone`;
}
