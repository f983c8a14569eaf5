// What two parties have in common, weighed by how rare it is: a value that many parties share
// tells little. Weights are bits, as record linkage has them (Fellegi and Sunter): so many
// doublings of the odds that both are the same.

import {comparePartyNames, isOtherUnit, isSameHouse, type NameLevel} from './compare.ts';
import type {PlainAddress, PlainParty} from './party.ts';

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

/** By how much a value that differs counts against the pair. */
const against = {phone: 3, email: 2, address: 2, otherUnit: 10, otherName: 10} as const;
/** A slip proves less than the word itself. */
const shareOfSlip = 0.6;

export function countValues(parties: readonly PlainParty[]): Counts {
  const counts = {
    ...{words: new Map(), names: new Map(), phones: new Map()},
    ...{emails: new Map(), houses: new Map()},
  } satisfies Record<string, Map<string, number>>;
  for (const {name, phones, emails, addresses} of parties) {
    countAll(counts.words, name.words);
    countAll(counts.names, [keyOfName(name)]);
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

export function keyOfName({words, marks}: PlainParty['name']): string {
  return [...words, ...marks].join(' ');
}

export function weigh(one: PlainParty, other: PlainParty, counts: Counts): Likeness {
  const name = weighNames(one, other, counts);
  const phone = weighShared(one.phones, other.phones, {
    weighOf: (value) => weighRare(counts, counts.phones.get(value)),
    against: against.phone,
  });
  const email = weighShared(one.emails, other.emails, {
    weighOf: (value) => weighRare(counts, counts.emails.get(value)),
    against: against.email,
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
 * Values that many share come together: who has the manager's telephone has his e-mail, too. Only
 * the one that says most of these counts.
 */
function addUp(weighed: readonly Weighed[]): number {
  const common = weighed.filter(({isCommon}) => isCommon).map(({bits}) => bits);
  const own = weighed.filter(({isCommon}) => !isCommon).reduce((sum, {bits}) => sum + bits, 0);
  return own + Math.max(0, ...common);
}

/** Of a value that one party of each side has: as many as the odds against a pair by chance. */
function mostBits({total}: Pick<Counts, 'total'>): number {
  return Math.log2(total / 2);
}

function bitsOf(counts: Pick<Counts, 'total'>, count = 1): number {
  return Math.min(mostBits(counts), Math.log2(counts.total / count));
}

/** A telephone number that is held by two of fifty parties is no common one in the world. */
const fewest = 10_000;
/** More than a household on both sides, one of whom is there twice. */
const commonFrom = 9;

function weighRare({total}: Counts, count = 1): Weighed {
  const bits = bitsOf({total: Math.max(total, fewest)}, count);
  return {agreement: 'agrees', bits, isCommon: count >= commonFrom};
}

function weighNames({name}: PlainParty, other: PlainParty, counts: Counts) {
  const {level, shared, slips} = comparePartyNames(
    name,
    other.name,
    (word) => counts.words.get(word) ?? 0,
  );
  const bitsOfWord = (word: string) => bitsOf(counts, counts.words.get(word));
  const sum =
    shared.reduce((bits, word) => bits + bitsOfWord(word), 0) +
    slips.reduce((bits, word) => bits + shareOfSlip * bitsOfWord(word), 0);
  const most =
    level === 'same' ? bitsOf(counts, counts.names.get(keyOfName(name))) : mostBits(counts);
  const bits = Math.min(sum, most);
  return {level, bits: level === 'different' ? bits - against.otherName : bits};
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

const unknown: Weighed = {agreement: null, bits: 0, isCommon: false};

function weighShared(
  one: readonly string[],
  other: readonly string[],
  {weighOf, against: lost}: Weighing,
): Weighed {
  if (one.length === 0 || other.length === 0) return unknown;
  const shared = one.filter((value) => other.includes(value)).map(weighOf);
  return shared.reduce(pickBetter, {agreement: 'differs', bits: -lost, isCommon: false});
}

function weighAddresses(
  one: readonly PlainAddress[],
  other: readonly PlainAddress[],
  counts: Counts,
): Weighed {
  if (one.length === 0 || other.length === 0) return unknown;
  const weighed = one.flatMap((each) =>
    other.filter((next) => isSameHouse(each, next)).map((next) => weighHouse(each, next, counts)),
  );
  const moved: Weighed = {agreement: 'differs', bits: -against.address, isCommon: false};
  const [first = moved, ...rest] = weighed;
  return rest.reduce(pickBetter, first);
}

function weighHouse(one: PlainAddress, other: PlainAddress, counts: Counts): Weighed {
  if (!isOtherUnit(one, other)) return weighRare(counts, counts.houses.get(one.key));
  return {agreement: 'differs', bits: -against.otherUnit, isCommon: false};
}

function pickBetter(one: Weighed, other: Weighed): Weighed {
  return other.bits > one.bits ? other : one;
}
