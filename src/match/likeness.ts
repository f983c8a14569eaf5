// How alike two parties are. Their values are compared one by one, and common values are weighed by
// how rare they are: a value that many parties share proves little. Only words that differ by a
// slip of the keyboard count as alike: a nickname is another name, which a person may judge.
// Weights are bits, as in record linkage (Fellegi and Sunter): a bit doubles the odds that both are
// the same.

import {distance} from 'fastest-levenshtein';
import type {PlainAddress, PlainName, PlainParty} from './party.ts';

/**
 * `same`; `near`: one word has a slip, or one side has one more initial; `part`: one side has more
 * than the other; `different`: each side has a word that the other lacks.
 */
type NameLevel = 'same' | 'near' | 'part' | 'different';

interface ComparedNames {
  readonly level: NameLevel;
  /** Words that both have. */
  readonly shared: readonly string[];
  /** For words that differ by a slip: the one of the two that more parties have. */
  readonly slips: readonly string[];
}

/** Shorter words that differ by a letter are different names: Jon and Ron. */
const shortestSlip = 4;

/** One letter more, less or different, or two letters that changed places. */
export function isSlip(one: string, other: string): boolean {
  if (Math.max(one.length, other.length) < shortestSlip) return false;
  if (Math.abs(one.length - other.length) > 1) return false;
  return distance(one, other) === 1 || isSwap(one, other);
}

function isSwap(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return (
    at + 1 < one.length &&
    one[at] === other[at + 1] &&
    one[at + 1] === other[at] &&
    one.slice(at + 2) === other.slice(at + 2)
  );
}

/**
 * @param countOf - how many parties have a word: two words that several parties have are two names,
 *   however alike they look
 */
export function comparePartyNames(
  one: PlainName,
  other: PlainName,
  countOf: (word: string) => number,
): ComparedNames {
  const {shared, left, right} = pairEqual(one.words, other.words);
  const isOneWord = left.length > 0 && right.length > 0 && one.joined === other.joined;
  const {slips, rest, restOther} = isOneWord
    ? {slips: [], rest: [], restOther: []}
    : pairSlips(left, right, countOf);
  const level = judgeMarks(one, other, judgeWords({shared, slips, rest, restOther}));
  return {level, shared: isOneWord ? [...shared, ...left] : shared, slips};
}

function pairEqual(one: readonly string[], other: readonly string[]) {
  const right = [...other];
  const left: string[] = [];
  const shared: string[] = [];
  for (const word of one) {
    const at = right.indexOf(word);
    if (at < 0) left.push(word);
    else {
      right.splice(at, 1);
      shared.push(word);
    }
  }
  return {shared, left, right};
}

/** Two words that at least this many parties have are not slips of each other. */
const knownFrom = 4;

function pairSlips(
  left: readonly string[],
  right: readonly string[],
  countOf: (word: string) => number,
) {
  const restOther = [...right];
  const rest: string[] = [];
  const slips: string[] = [];
  for (const word of left) {
    const isSlipOf = (near: string) =>
      isSlip(word, near) && Math.min(countOf(word), countOf(near)) < knownFrom;
    const at = restOther.findIndex(isSlipOf);
    const [near = ''] = at < 0 ? [] : restOther.splice(at, 1);
    if (at < 0) rest.push(word);
    else slips.push(countOf(word) > countOf(near) ? word : near);
  }
  return {slips, rest, restOther};
}

interface PairedWords {
  readonly shared: readonly string[];
  readonly slips: readonly string[];
  readonly rest: readonly string[];
  readonly restOther: readonly string[];
}

function judgeWords({shared, slips, rest, restOther}: PairedWords): NameLevel {
  const alikeCount = shared.length + slips.length;
  if (alikeCount === 0) return 'different';
  if (rest.length > 0 && restOther.length > 0)
    return rest.every((word) => isInitialOf(word, restOther)) ? 'part' : 'different';
  const more = [...rest, ...restOther];
  if (more.some((word) => word.length > 1) || slips.length > 1) return 'part';
  if (slips.length === 0 && more.length === 0) return 'same';
  return alikeCount > 1 ? 'near' : 'part';
}

/** `J` and John. */
function isInitialOf(word: string, others: readonly string[]): boolean {
  return others.some((other) => Math.min(word.length, other.length) === 1 && word[0] === other[0]);
}

/** A junior is not the senior. If only one side has such a mark, a person decides. */
function judgeMarks(one: PlainName, other: PlainName, level: NameLevel): NameLevel {
  if (one.marks.join(' ') === other.marks.join(' ')) return level;
  if (one.marks.length > 0 && other.marks.length > 0) return 'different';
  return level === 'different' ? level : 'part';
}

/** The same house: its number, its street except for slips, its place. */
export function isSameHouse(one: PlainAddress, other: PlainAddress): boolean {
  if (one.number !== other.number || one.words.length !== other.words.length) return false;
  if (!isSamePlace(one, other)) return false;
  return one.words.every(
    (word, at) => word === other.words[at] || isSlip(word, other.words[at] ?? ''),
  );
}

function isSamePlace(one: PlainAddress, other: PlainAddress): boolean {
  if (one.zip !== '' && other.zip !== '') return one.zip === other.zip;
  return one.city !== '' && one.city === other.city;
}

/** Two flats of one house. */
function isOtherUnit(one: PlainAddress, other: PlainAddress): boolean {
  return one.unit !== '' && other.unit !== '' && one.unit !== other.unit;
}

/** How many parties of both sides have each value. */
export interface Counts {
  readonly total: number;
  readonly words: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<string, number>;
  readonly phones: ReadonlyMap<string, number>;
  readonly emails: ReadonlyMap<string, number>;
  readonly houses: ReadonlyMap<string, number>;
}

/** Null: one of the two sides has no such value. */
type Agreement = 'agrees' | 'differs' | null;

export interface Likeness {
  readonly name: NameLevel;
  readonly phone: Agreement;
  readonly email: Agreement;
  readonly address: Agreement;
  /** Bits above 0: the same party is more likely than not. */
  readonly score: number;
}

/** The bits that a value that differs counts against the pair. */
const penalties = {phone: 3, email: 2, address: 2, otherUnit: 10, otherName: 10} as const;
/** A slip proves less than the word itself. */
const shareOfSlip = 0.6;

export function countValues(parties: readonly PlainParty[]): Counts {
  const counts = {
    ...{words: new Map(), names: new Map(), phones: new Map()},
    ...{emails: new Map(), houses: new Map()},
  } satisfies Record<string, Map<string, number>>;
  for (const {name, phones, emails, addresses} of parties) {
    countAll(counts.words, name.words);
    countAll(counts.names, [createNameKey(name)]);
    countAll(counts.phones, phones);
    countAll(counts.emails, emails);
    countAll(
      counts.houses,
      addresses.map(({key}) => key),
    );
  }
  return {total: Math.max(2, parties.length), ...counts};
}

function countAll(counts: Map<string, number>, values: readonly string[]): void {
  for (const value of new Set(values)) counts.set(value, (counts.get(value) ?? 0) + 1);
}

export function createNameKey({words, marks}: PlainParty['name']): string {
  return [...words, ...marks].join(' ');
}

export function weigh(one: PlainParty, other: PlainParty, counts: Counts): Likeness {
  const name = weighNames(one, other, counts);
  const phone = weighShared(one.phones, other.phones, {
    weighOf: (value) => weighRare(counts, counts.phones.get(value)),
    against: penalties.phone,
  });
  const email = weighShared(one.emails, other.emails, {
    weighOf: (value) => weighRare(counts, counts.emails.get(value)),
    against: penalties.email,
  });
  const address = weighAddresses(one.addresses, other.addresses, counts);
  return {
    name: name.level,
    phone: phone.agreement,
    email: email.agreement,
    address: address.agreement,
    score: name.bits + addUp([phone, email, address]) - mostBits(counts),
  };
}

/**
 * Values that many parties share come together: a party with the manager's telephone number has the
 * manager's e-mail address, too. Only the one with the most bits counts.
 */
function addUp(weighed: readonly Weighed[]): number {
  const commonBits = weighed.filter(({isCommon}) => isCommon).map(({bits}) => bits);
  const rareBits = weighed.filter(({isCommon}) => !isCommon).reduce((sum, {bits}) => sum + bits, 0);
  return rareBits + Math.max(0, ...commonBits);
}

/**
 * The bits of a value that one party of each side has: as many as the odds against a pair by
 * chance.
 */
function mostBits({total}: Pick<Counts, 'total'>): number {
  return Math.log2(total / 2);
}

function weighCount(counts: Pick<Counts, 'total'>, count = 1): number {
  return Math.min(mostBits(counts), Math.log2(counts.total / count));
}

/** A telephone number that two of fifty parties have is not a common one in the world. */
const fewestParties = 10_000;
/** From this many parties on, a value is common: a household of four is eight on both sides. */
const commonFrom = 9;

function weighRare({total}: Counts, count = 1): Weighed {
  const bits = weighCount({total: Math.max(total, fewestParties)}, count);
  return {agreement: 'agrees', bits, isCommon: count >= commonFrom};
}

function weighNames({name}: PlainParty, other: PlainParty, counts: Counts) {
  const {level, shared, slips} = comparePartyNames(
    name,
    other.name,
    (word) => counts.words.get(word) ?? 0,
  );
  const bitsOfWord = (word: string) => weighCount(counts, counts.words.get(word));
  const sum =
    shared.reduce((bits, word) => bits + bitsOfWord(word), 0) +
    slips.reduce((bits, word) => bits + shareOfSlip * bitsOfWord(word), 0);
  const most =
    level === 'same' ? weighCount(counts, counts.names.get(createNameKey(name))) : mostBits(counts);
  const bits = Math.min(sum, most);
  return {level, bits: level === 'different' ? bits - penalties.otherName : bits};
}

interface Weighing {
  readonly weighOf: (value: string) => Weighed;
  readonly against: number;
}

interface Weighed {
  readonly agreement: Agreement;
  readonly bits: number;
  /** Whether many parties have the value. */
  readonly isCommon: boolean;
}

const noEvidence: Weighed = {agreement: null, bits: 0, isCommon: false};

function weighShared(
  one: readonly string[],
  other: readonly string[],
  {weighOf, against: penalty}: Weighing,
): Weighed {
  if (one.length === 0 || other.length === 0) return noEvidence;
  const shared = one.filter((value) => other.includes(value)).map(weighOf);
  return shared.reduce(pickBetter, {agreement: 'differs', bits: -penalty, isCommon: false});
}

function weighAddresses(
  one: readonly PlainAddress[],
  other: readonly PlainAddress[],
  counts: Counts,
): Weighed {
  if (one.length === 0 || other.length === 0) return noEvidence;
  const weighed = one.flatMap((address) =>
    other
      .filter((otherAddress) => isSameHouse(address, otherAddress))
      .map((otherAddress) => weighHouse(address, otherAddress, counts)),
  );
  const differing: Weighed = {agreement: 'differs', bits: -penalties.address, isCommon: false};
  const [first = differing, ...rest] = weighed;
  return rest.reduce(pickBetter, first);
}

function weighHouse(one: PlainAddress, other: PlainAddress, counts: Counts): Weighed {
  if (!isOtherUnit(one, other)) return weighRare(counts, counts.houses.get(one.key));
  return {agreement: 'differs', bits: -penalties.otherUnit, isCommon: false};
}

function pickBetter(one: Weighed, other: Weighed): Weighed {
  return other.bits > one.bits ? other : one;
}
