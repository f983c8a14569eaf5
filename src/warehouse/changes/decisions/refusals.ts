import type {DecidedChange} from './decide-changes.ts';

/** Refusals without the number of the change before each, so that those that say the same are one group. */
export function listRefusals(
  decided: readonly Pick<DecidedChange, 'changeId' | 'refusal'>[],
): {readonly changeId: string; readonly what: string}[] {
  return decided.flatMap(({changeId, refusal}) =>
    refusal === null ? [] : [{changeId, what: refusal.replace(`change ${changeId}: `, '')}],
  );
}
