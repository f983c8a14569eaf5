// A customer or an employee as one of two systems has it, and how alike two of them are. Values are
// first written in one way: letters without accents, telephone numbers as E.164, words of streets
// abbreviated. They are compared one by one, and common values are weighed by how rare they are: a
// value that many parties share proves little. Only words that differ by a slip of the keyboard
// count as alike: a nickname is another name, which a person may judge. Weights are bits, as in
// record linkage (Fellegi and Sunter): a bit doubles the odds that both are the same.

import {distance} from 'fastest-levenshtein';
import {type CountryCode, parsePhoneNumberFromString} from 'libphonenumber-js/min';

/** A customer or an employee, as one side has it. */
export interface Party {
  /** Its id on its side: the key of the outside system, or our row_id. */
  readonly id: string;
  readonly name: string;
  readonly phones: readonly string[];
  readonly emails: readonly string[];
  readonly addresses: readonly PartyAddress[];
}

/** Parts that are missing are empty. */
export interface PartyAddress {
  readonly street: string;
  readonly city: string;
  readonly zip: string;
}

/** A party whose values can be compared. */
export interface PlainParty {
  readonly party: Party;
  readonly name: PlainName;
  readonly phones: readonly string[];
  readonly emails: readonly string[];
  readonly addresses: readonly PlainAddress[];
}

interface PlainName {
  /** Sorted, without titles and legal forms. */
  readonly words: readonly string[];
  /** The words in the order in which they were written, without blanks: `mcdonald`. */
  readonly joined: string;
  /** The marks that distinguish two parties of one name: `jr`, `iii`, `12`. Sorted. */
  readonly marks: readonly string[];
}

interface PlainAddress {
  /** Of the house; empty if there is none. */
  readonly number: string;
  readonly words: readonly string[];
  /** Of the flat or the office; empty if there is none. */
  readonly unit: string;
  /** The first five digits of a ZIP code; other codes as they are. */
  readonly zip: string;
  readonly city: string;
  /** House, street and place, without the unit. */
  readonly key: string;
}

const legalForms = new Set(
  'llc inc incorporated ltd limited co corp corporation company lp llp pllc pc plc gmbh ag'.split(
    ' ',
  ),
);
const ignoredWords = new Set('mr mrs ms miss dr and the of und'.split(' '));
const generations = new Set('jr sr junior senior ii iii iv'.split(' '));
const markAbbreviations: ReadonlyMap<string, string> = new Map([
  ['junior', 'jr'],
  ['senior', 'sr'],
]);

/** Long words of an address, each with its abbreviation. */
const abbreviations: ReadonlyMap<string, string> = new Map(
  [
    ...['street st', 'avenue ave', 'av ave', 'road rd', 'boulevard blvd', 'drive dr', 'lane ln'],
    ...['court ct', 'place pl', 'square sq', 'highway hwy', 'parkway pkwy', 'circle cir'],
    ...['terrace ter', 'trail trl', 'north n', 'south s', 'east e', 'west w', 'northeast ne'],
    ...['northwest nw', 'southeast se', 'southwest sw', 'strasse str', 'saint st', 'mount mt'],
  ].map((pair) => {
    const [long = '', short = ''] = pair.split(' ');
    return [long, short];
  }),
);
const unitWords = new Set('apt apartment unit suite ste flat room rm'.split(' '));

/** @param country - that of telephone numbers without a country code */
export function readPlain(party: Party, country: CountryCode): PlainParty {
  return {
    party,
    name: readName(party.name),
    phones: readAll(party.phones, (phone) => readPhone(phone, country)),
    emails: readAll(party.emails, readEmail),
    addresses: party.addresses.flatMap((address) => readPlainAddress(address) ?? []),
  };
}

function readAll(values: readonly string[], read: (value: string) => string): string[] {
  return [...new Set(values.map(read).filter((value) => value !== ''))];
}

/** Small letters without accents. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss');
}

function listWords(text: string): string[] {
  return text
    .replaceAll(/['’`.]/g, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

export function readName(text: string): PlainName {
  const allWords = listWords(fold(text));
  const isMark = (word: string) => generations.has(word) || /\p{N}/u.test(word);
  const isWord = (word: string) =>
    !isMark(word) && !legalForms.has(word) && !ignoredWords.has(word);
  const words = allWords.filter(isWord);
  // Of `7-11` and `The Company` nothing would be left.
  if (words.length === 0) return {words: allWords.toSorted(), joined: allWords.join(''), marks: []};
  const marks = allWords.filter(isMark).map((mark) => markAbbreviations.get(mark) ?? mark);
  return {words: words.toSorted(), joined: words.join(''), marks: marks.toSorted()};
}

/**
 * `+15550100199`; for a number that is not whole, such as one without its area code, its digits;
 * empty if they are too few or all the same.
 */
export function readPhone(text: string, country: CountryCode): string {
  const digits = text.replaceAll(/\D/g, '');
  if (digits.length < 5 || /^(\d)\1*$/.test(digits)) return '';
  const parsed = parsePhoneNumberFromString(text, country);
  return parsed?.isPossible() === true ? parsed.number : digits;
}

function readEmail(text: string): string {
  const email = text.trim().toLowerCase();
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email) ? email : '';
}

/** Null for an address without a street, and for one whose place is unknown. */
export function readPlainAddress({street, city, zip}: PartyAddress): PlainAddress | null {
  const allWords = listWords(fold(street).replaceAll('#', ' unit '));
  const unitIndex = allWords.findIndex((word, index) => index > 0 && unitWords.has(word));
  const unit = unitIndex < 0 ? '' : allWords.slice(unitIndex + 1).join('');
  const streetWords = (unitIndex < 0 ? allWords : allWords.slice(0, unitIndex)).map(
    (word) => abbreviations.get(word) ?? word,
  );
  const numberIndex = streetWords.findIndex((word) => /^\d/.test(word));
  const number = streetWords[numberIndex] ?? '';
  const words = streetWords.filter((_, index) => index !== numberIndex);
  const location = {zip: readZip(zip), city: listWords(fold(city)).join('')};
  if (words.length === 0 || (location.zip === '' && location.city === '')) return null;
  const key = [number, ...words, location.zip === '' ? location.city : location.zip].join(' ');
  return {number, words, unit, ...location, key};
}

function readZip(text: string): string {
  const code = fold(text).replaceAll(/[^\p{L}\p{N}]/gu, '');
  return /^\d{9}$/.test(code) ? code.slice(0, 5) : code;
}

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
    words: new Map(),
    names: new Map(),
    phones: new Map(),
    emails: new Map(),
    houses: new Map(),
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
