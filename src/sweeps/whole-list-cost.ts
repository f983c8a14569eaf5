import {wholeList} from '../streams/windows.ts';
import type {UsualCost} from './past-sweeps.ts';

/** One pass over the whole list of a stream, by what the account's own sweeps took. */
export interface PassCost {
  readonly requests: number;
  readonly seconds: number;
}

/**
 * Estimates one pass over a whole list: by the passes there were, else by the first pass of full
 * sweeps, each page of which was one request.
 * @param costs - of the account
 * @returns null where the stream was never swept
 */
export function estimatePass(costs: readonly UsualCost[], stream: string): PassCost | null {
  const own = costs.filter((cost) => cost.stream === stream);
  const pass = own.find(({windowName}) => windowName === wholeList);
  if (pass !== undefined) return pass;
  const full = own.find(({mode}) => mode === 'full');
  if (full === undefined) return null;
  const share = full.requests > 0 ? Math.min(1, full.pages / full.requests) : 1;
  return {requests: full.pages, seconds: full.seconds * share};
}
