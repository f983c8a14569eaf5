// The page with cause and mend for a thing that stands still or went wrong: the pages of the alerts, which tell of the same things
// when they last. Null where nothing has to be mended.

import type {Change} from '../changes/change.ts';
import type {SweepState} from '../sweeps/sweep.ts';
import {type Cause, causeNumbers} from './causes.ts';

/** The page of a record in quarantine. */
export const quarantinePage = causeNumbers.quarantine;

const sweepCauses: Readonly<Partial<Record<SweepState, Cause>>> = {
  uncertified: 'unproven',
  stopped: 'approval',
  failed: 'failed',
};

/** `A06` of a sweep that is uncertified */
export function pageOfSweep(state: SweepState): string | null {
  return pageOf(sweepCauses[state]);
}

type Standing = Pick<Change, 'state' | 'result'> & Partial<Pick<Change, 'heldFor' | 'failures'>>;

/** `A11` of a change in conflict */
export function pageOfChange(change: Standing): string | null {
  return pageOf(causeOfChange(change));
}

function causeOfChange({state, result, heldFor = null, failures = 0}: Standing): Cause | undefined {
  switch (state) {
    case 'conflict':
      return 'change-conflict';
    case 'rejected':
      return 'change-rejected';
    case 'in_doubt':
      return 'change-in-doubt';
    case 'done':
      return result?.altered === undefined ? undefined : 'change-altered';
    case 'held':
      return heldFor === null ? undefined : 'change-altered';
    case 'pending':
      return failures > 0 ? 'change-failing' : undefined;
    default:
      return undefined;
  }
}

function pageOf(cause: Cause | undefined): string | null {
  return cause === undefined ? null : causeNumbers[cause];
}
