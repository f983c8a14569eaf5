import {type Counter, counters, type Verdict} from './checker.ts';
import {type WriteFate, writeFates} from './mischief.ts';

/** The results of a number of runs. */
export interface Tally {
  runs: number;
  changes: number;
  creates: number;
  deaths: number;
  stalls: number;
  /** Ends of every session at once. */
  outages: number;
  rounds: number;
  readonly states: Record<string, number>;
  readonly fates: Record<WriteFate, number>;
  /** Statements of authors that the warehouse refused. */
  readonly refusals: string[];
  /** The story of each change that waits for a person. */
  readonly leftToPerson: string[];
  readonly violations: string[];
}

export function emptyTally(): Tally {
  return {
    runs: 0,
    changes: 0,
    creates: 0,
    deaths: 0,
    stalls: 0,
    outages: 0,
    rounds: 0,
    states: {},
    fates: Object.fromEntries(writeFates.map((fate) => [fate, 0])) as Record<WriteFate, number>,
    refusals: [],
    leftToPerson: [],
    violations: [],
  };
}

export function addTally(sum: Tally, more: Tally): void {
  for (const name of [
    'runs',
    'changes',
    'creates',
    'deaths',
    'stalls',
    'outages',
    'rounds',
  ] as const)
    sum[name] += more[name];
  for (const [state, count] of Object.entries(more.states))
    sum.states[state] = (sum.states[state] ?? 0) + count;
  for (const fate of writeFates) sum.fates[fate] += more.fates[fate];
  sum.refusals.push(...more.refusals);
  sum.leftToPerson.push(...more.leftToPerson);
  sum.violations.push(...more.violations);
}

/** One line a case, except for changes that wait for a person. */
export function listViolations(verdict: Verdict, name: string): string[] {
  const faults = counters.filter(
    (counter): counter is Exclude<Counter, 'leftToPerson'> => counter !== 'leftToPerson',
  );
  return faults.flatMap((counter) =>
    verdict[counter].map((story) => `${name}: ${counter}: ${story}`),
  );
}

export function describeTally(tally: Tally): string {
  const states = Object.entries(tally.states).map(([state, count]) => `${count} ${state}`);
  const fates = writeFates.map((fate) => `${tally.fates[fate]} ${fate}`);
  return [
    `${tally.runs} runs, ${tally.changes} changes (${states.join(', ')}), ` +
      `${tally.deaths} deaths, ${tally.stalls} stalls, ${tally.outages} outages, ` +
      `${tally.rounds} rounds`,
    `writing requests: ${fates.join(', ')}`,
    ...[...Map.groupBy(tally.refusals, (words) => words.replaceAll(/\d+/g, 'N'))].map(
      ([words, refusals]) => `${refusals.length} × an author was told: ${words}`,
    ),
    ...tally.leftToPerson.map((story) => `left to a person: ${story}`),
    `${tally.leftToPerson.length} left to a person, ${tally.violations.length} violations`,
  ].join('\n');
}
