import type {Asked} from './adversary-service.ts';
import type {CheckedSweep} from './sweep-checker.ts';

/** The results of some sweeps. */
export interface Tally {
  sweeps: number;
  readonly states: Record<CheckedSweep['state'], number>;
  /** The reasons why sweeps were not certified, numbers left out, with their counts. */
  readonly reasons: Map<string, number>;
  readonly requests: Record<Asked['kind'], number>;
  /** Each with its seed and its sweep. */
  readonly violations: string[];
}

export function emptyTally(): Tally {
  return {
    sweeps: 0,
    states: {certified: 0, uncertified: 0, stopped: 0, failed: 0},
    reasons: new Map(),
    requests: {page: 0, keys: 0, record: 0},
    violations: [],
  };
}

/** Adds one tally to another. */
export function addTally(sum: Tally, more: Tally): void {
  sum.sweeps += more.sweeps;
  addCounts(sum.states, more.states);
  addCounts(sum.requests, more.requests);
  for (const [reason, count] of more.reasons) countReason(sum, reason, count);
  sum.violations.push(...more.violations);
}

/** Counts the reason of a sweep that was not certified: one kind, whatever numbers are in it. */
export function countReason(tally: Tally, reason: string, count = 1): void {
  const kind = reason.replaceAll(/\d[\d,.]*/g, 'N');
  tally.reasons.set(kind, (tally.reasons.get(kind) ?? 0) + count);
}

/** The tally as lines for a person. */
export function describeTally(tally: Tally): string {
  const {sweeps, states, requests} = tally;
  const reasons = [...tally.reasons].sort((a, b) => b[1] - a[1]);
  return [
    `${sweeps} sweeps: ${states.certified} certified, ${states.uncertified} uncertified, ` +
      `${states.stopped} stopped, ${states.failed} failed, ` +
      `${tally.violations.length} violations`,
    `requests: ${requests.page} pages, ${requests.keys} pages of keys, ` +
      `${requests.record} by number`,
    ...reasons.map(([reason, count]) => `${count} × ${reason}`),
  ].join('\n  ');
}

function addCounts(sum: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count;
}
