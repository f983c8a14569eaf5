// What a matching has found of the truth.

import {type Matches, matchParties, type Pair} from '../../src/match/match.ts';
import {readPlain} from '../../src/match/party.ts';
import {makeTwoSystems} from './business.ts';

export interface Judged {
  readonly ours: number;
  readonly theirs: number;
  /** Customers of theirs that are among ours. */
  readonly true: number;
  readonly wrong: readonly Pair[];
  /** Shares of the true ones, 0 to 1. */
  readonly inSure: number;
  /** Of those that each side has once. */
  readonly inSureOnce: number;
  readonly inSureOrSeveral: number;
  /** CPU time of the matching, with reading the values. */
  readonly cpuMs: number;
}

/** @param size - about so many customers on each side */
export function judgeMatching(size: number, seed: number): Judged {
  // A tenth of the customers is on one side alone.
  const {ours, theirs, truth} = makeTwoSystems(Math.round(size * 1.06), seed);
  const before = process.cpuUsage();
  const matches = matchParties(
    ours.map((party) => readPlain(party, 'US')),
    theirs.map((party) => readPlain(party, 'US')),
  );
  const {user, system} = process.cpuUsage(before);
  return {
    ours: ours.length,
    theirs: theirs.length,
    true: truth.size,
    ...judge(matches, truth),
    cpuMs: Math.round((user + system) / 1_000),
  };
}

function judge(
  {sure, several}: Matches,
  truth: ReadonlyMap<string, ReadonlySet<string>>,
): Omit<Judged, 'ours' | 'theirs' | 'true' | 'cpuMs'> {
  const isTrue = ({theirs, ours}: Pair) => truth.get(theirs.party.id)?.has(ours.party.id) === true;
  const found = new Set(sure.filter(isTrue).map(({theirs}) => theirs.party.id));
  const shown = several.filter(({pairs}) => pairs.some(isTrue));
  const theirsOf = Map.groupBy(truth, ([, ours]) => [...ours].join(' '));
  const once = [...theirsOf].flatMap(([ours, [first, ...rest]]) =>
    first === undefined || rest.length > 0 || ours.includes(' ') ? [] : [first[0]],
  );
  return {
    wrong: sure.filter((pair) => !isTrue(pair)),
    inSure: found.size / truth.size,
    inSureOnce: once.filter((id) => found.has(id)).length / once.length,
    inSureOrSeveral: (found.size + shown.length) / truth.size,
  };
}
