// Decides which parties of an outside system are which of our parties. `sure` is for links that no
// person checks: a pair is there only if neither side has another party that comes close. All other
// possible matches are for a person. Two lists are matched in a separate thread: ten thousand on
// each side take seconds, in which a server would answer no request.

import {once} from 'node:events';
import {extname} from 'node:path';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import type {CountryCode} from 'libphonenumber-js/min';
import {
  type Counts,
  countValues,
  createNameKey,
  type Likeness,
  type Party,
  type PlainParty,
  readPlain,
  weigh,
} from './party.ts';

/** One of our parties and one of theirs that may be the same. */
export interface Pair {
  readonly ours: PlainParty;
  readonly theirs: PlainParty;
  readonly likeness: Likeness;
}

/** One of their parties, with those of ours that it may be, the likeliest first. */
interface PartyCandidates {
  readonly theirs: PlainParty;
  readonly pairs: readonly Pair[];
}

export interface Matches {
  readonly sure: readonly Pair[];
  readonly several: readonly PartyCandidates[];
  readonly onlyHere: readonly PlainParty[];
  readonly onlyThere: readonly PlainParty[];
}

/** The fewest bits of a sure pair: odds of sixty to one, if values were independent. */
const sureFrom = 6;
/** A pair that is less likely is not shown. */
const likelyFrom = -3;
/** A pair with at least this many bits is another possibility, whatever the first one has. */
const rivalFrom = 0;
/** A pair comes close if its score is lower by less than this many bits. */
const closeWithin = 10;
/** A person reads no more candidates than these. */
const mostShown = 5;

/**
 * @param ours - all parties of one kind; each id once
 * @param theirs - the same of the outside system
 * @param linked - the parties of both that have a link: they are in no bucket, but a party that
 *   comes close to them is as little sure as it was before they were linked
 */
export function matchParties(
  ours: readonly PlainParty[],
  theirs: readonly PlainParty[],
  linked: ReadonlySet<PlainParty> = new Set(),
): Matches {
  const counts = countValues([...ours, ...theirs]);
  const pairs = findPairs(ours, theirs, counts);
  const sure = chooseSure(pairs, linked);
  const settled = new Set([...linked, ...sure.flatMap((pair) => [pair.ours, pair.theirs])]);
  const openPairs = pairs.filter((pair) => !settled.has(pair.ours) && !settled.has(pair.theirs));
  const several = [...Map.groupBy(openPairs, (pair) => pair.theirs)].map(
    ([theirParty, partyPairs]) => ({
      theirs: theirParty,
      pairs: partyPairs.toSorted((one, other) => other.likeness.score - one.likeness.score),
    }),
  );
  const pairedParties = new Set([
    ...settled,
    ...openPairs.flatMap((pair) => [pair.ours, pair.theirs]),
  ]);
  return {
    sure,
    several: several.map(({pairs: partyPairs, ...choice}) => ({
      ...choice,
      pairs: partyPairs.slice(0, mostShown),
    })),
    onlyHere: ours.filter((party) => !pairedParties.has(party)),
    onlyThere: theirs.filter((party) => !pairedParties.has(party)),
  };
}

/** Whether a pair is sure, apart from other pairs, which may come close. */
function isSure({name, phone, email, address, score}: Likeness): boolean {
  if (score < sureFrom) return false;
  const agreeing = [phone, email, address].filter((agreement) => agreement === 'agrees').length;
  const differing = [phone, email, address].filter((agreement) => agreement === 'differs').length;
  if (name === 'near') return agreeing >= 2 && differing <= 1;
  if (name !== 'same' || agreeing === 0 || agreeing < differing) return false;
  // Father and son of one name live in one house: an address alone does not outweigh another
  // telephone number.
  return differing === 0 || phone === 'agrees' || email === 'agrees';
}

/**
 * The sure pairs to which no other pair comes close. Mother and daughter of one household come
 * close to each other. Once the mother is settled, the daughter has no rival.
 */
function chooseSure(pairs: readonly Pair[], linked: ReadonlySet<PlainParty>): Pair[] {
  const pairsByOurs = Map.groupBy(pairs, (pair) => pair.ours);
  const pairsByTheirs = Map.groupBy(pairs, (pair) => pair.theirs);
  const settled = new Map<PlainParty, Pair | null>([...linked].map((party) => [party, null]));
  let openPairs = pairs.filter(
    (pair) => isSure(pair.likeness) && !settled.has(pair.ours) && !settled.has(pair.theirs),
  );
  for (let sizeBefore = -1; sizeBefore < settled.size; ) {
    sizeBefore = settled.size;
    const unrivalled = openPairs.filter((pair) =>
      [pairsByOurs.get(pair.ours), pairsByTheirs.get(pair.theirs)].every((rivals = []) =>
        rivals.every((rival) => rival === pair || !isClose(rival, pair, settled)),
      ),
    );
    for (const pair of unrivalled) settled.set(pair.ours, pair).set(pair.theirs, pair);
    openPairs = openPairs.filter((pair) => settled.get(pair.ours) !== pair);
  }
  return [...new Set(settled.values())].filter((pair) => pair !== null);
}

/** A party of another name is no rival if the names of the pair are the same. */
function isClose(rival: Pair, pair: Pair, settled: ReadonlyMap<PlainParty, unknown>): boolean {
  const {score, name} = rival.likeness;
  if (name === 'different') {
    if (pair.likeness.name === 'same') return false;
    if (settled.has(rival.ours === pair.ours ? rival.theirs : rival.ours)) return false;
  } else if (score >= rivalFrom) return true;
  return pair.likeness.score - score < closeWithin;
}

/**
 * Pairs are compared only if both parties have a value in common: a telephone number, an address, a
 * name, a rare word. A value that very many parties have proves so little that its pairs are left
 * out. So time grows with the number of parties, not with its square.
 */
function findPairs(
  ours: readonly PlainParty[],
  theirs: readonly PlainParty[],
  counts: Counts,
): Pair[] {
  const index = new Map<string, PlainParty[]>();
  for (const party of ours)
    for (const key of listKeys(party)) {
      const indexedParties = index.get(key);
      if (indexedParties === undefined) index.set(key, [party]);
      else indexedParties.push(party);
    }
  const theirKeyCounts = new Map<string, number>();
  for (const party of theirs)
    for (const key of listKeys(party))
      if (index.has(key)) theirKeyCounts.set(key, (theirKeyCounts.get(key) ?? 0) + 1);
  return theirs.flatMap((party) => {
    const candidates = new Set<PlainParty>();
    for (const key of listKeys(party)) {
      const indexedParties = index.get(key) ?? [];
      if (indexedParties.length * (theirKeyCounts.get(key) ?? 0) > mostPairs(key)) continue;
      for (const candidate of indexedParties) candidates.add(candidate);
    }
    return [...candidates]
      .map((candidate) => ({
        ours: candidate,
        theirs: party,
        likeness: weigh(candidate, party, counts),
      }))
      .filter(({likeness}) => likeness.score >= likelyFrom);
  });
}

/** The most pairs of all parties with one value; fewer for a word, or the beginning of one. */
function mostPairs(key: string): number {
  return key.startsWith('word ') || key.startsWith('near ') ? 400 : 10_000;
}

function listKeys({name, phones, emails, addresses}: PlainParty): Set<string> {
  const zips = new Set(addresses.map(({zip, city}) => (zip === '' ? city : zip)));
  return new Set([
    ...phones.map((phone) => `phone ${phone}`),
    ...emails.map((email) => `email ${email}`),
    ...addresses.map(({key}) => `house ${key}`),
    `name ${createNameKey(name)}`,
    `joined ${name.joined}`,
    ...name.words.map((word) => `word ${word}`),
    ...[...zips].flatMap((zip) => name.words.map((word) => `near ${zip} ${word.slice(0, 3)}`)),
  ]);
}

// The differences between the two sides of matched pairs, field by field.

interface FieldDifference {
  readonly field: 'name' | 'phone' | 'email' | 'address';
  readonly equal: number;
  readonly differ: number;
  /** Only our side has a value. */
  readonly onlyHere: number;
  readonly onlyThere: number;
}

/**
 * Values that differ only in how they are written are equal; pairs without a value are not counted.
 */
export function countDifferences(pairs: readonly Pair[]): FieldDifference[] {
  return [
    {
      field: 'name',
      ...countSides(pairs, ({ours, theirs, likeness}) => ({
        here: ours.party.name !== '',
        there: theirs.party.name !== '',
        isEqual: likeness.name === 'same',
      })),
    },
    {field: 'phone', ...countSides(pairs, (pair) => readSides(pair, 'phones', 'phone'))},
    {field: 'email', ...countSides(pairs, (pair) => readSides(pair, 'emails', 'email'))},
    {field: 'address', ...countSides(pairs, (pair) => readSides(pair, 'addresses', 'address'))},
  ];
}

interface Sides {
  readonly here: boolean;
  readonly there: boolean;
  readonly isEqual: boolean;
}

function readSides(
  {ours, theirs, likeness}: Pair,
  values: 'phones' | 'emails' | 'addresses',
  field: 'phone' | 'email' | 'address',
): Sides {
  return {
    here: ours[values].length > 0,
    there: theirs[values].length > 0,
    isEqual: likeness[field] === 'agrees',
  };
}

function countSides(
  pairs: readonly Pair[],
  read: (pair: Pair) => Sides,
): Omit<FieldDifference, 'field'> {
  const counts = {equal: 0, differ: 0, onlyHere: 0, onlyThere: 0};
  for (const {here, there, isEqual} of pairs.map(read)) {
    if (here && there) counts[isEqual ? 'equal' : 'differ']++;
    else if (here) counts.onlyHere++;
    else if (there) counts.onlyThere++;
  }
  return counts;
}

/** The parties to match; plain data, because it crosses threads. */
interface MatchTask {
  readonly ours: readonly Party[];
  readonly theirs: readonly Party[];
  /** The ids of the parties that have a link already. */
  readonly linkedHere: ReadonlySet<string>;
  readonly linkedThere: ReadonlySet<string>;
  /** The country of telephone numbers without a country code. */
  readonly country: CountryCode;
}

/**
 * From source, the thread loads this very file. In the built program, it loads an entry beside the
 * file that contains this module.
 */
const threadFile = new URL(`./match${extname(import.meta.filename)}`, import.meta.url);

export async function matchInThread(task: MatchTask): Promise<Matches> {
  const thread = new Worker(threadFile, {workerData: {matchTask: task}});
  const [matches] = await once(thread, 'message');
  return matches as Matches;
}

function match({ours, theirs, linkedHere, linkedThere, country}: MatchTask): Matches {
  const here = ours.map((party) => readPlain(party, country));
  const there = theirs.map((party) => readPlain(party, country));
  const linked = [
    ...here.filter(({party}) => linkedHere.has(party.id)),
    ...there.filter(({party}) => linkedThere.has(party.id)),
  ];
  return matchParties(here, there, new Set(linked));
}

// Other code may load this module in its threads, too.
if (!isMainThread && workerData?.matchTask !== undefined)
  parentPort?.postMessage(match(workerData.matchTask));
