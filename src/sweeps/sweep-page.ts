// The page with cause and mend for a sweep or a record that stands still or went wrong: the page of
// the alert that tells of the same when it lasts.

import {type Cause, causeNumbers} from '../core/alert-causes.ts';
import type {SweepState} from './sweep.ts';

/** The page of a record in quarantine. */
export const quarantinePage = causeNumbers.quarantine;

const sweepCauses: Readonly<Partial<Record<SweepState, Cause>>> = {
  uncertified: 'unproven',
  stopped: 'approval',
  failed: 'failed',
};

/** `A06` of a sweep that is uncertified; null where nothing has to be mended. */
export function pageOfSweep(state: SweepState): string | null {
  const {[state]: cause} = sweepCauses;
  return cause === undefined ? null : causeNumbers[cause];
}
