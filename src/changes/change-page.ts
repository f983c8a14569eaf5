import {type Cause, causeNumbers} from '../core/errors.ts';
import type {Change} from './change.ts';

type Standing = Pick<Change, 'state' | 'result'> & Partial<Pick<Change, 'heldFor' | 'failures'>>;

/**
 * `A11` of a change in conflict: the page with cause and mend, that of the alert which tells of the
 * same when it lasts. Null where nothing has to be mended.
 */
export function pageOfChange(change: Standing): string | null {
  const cause = causeOfChange(change);
  return cause === undefined ? null : causeNumbers[cause];
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
