// A customer or an employee as one of two systems has it, and the same with its values written in
// one way: letters without accents, telephone numbers as E.164, words of streets abbreviated.

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

export interface PlainName {
  /** Sorted, without titles and legal forms. */
  readonly words: readonly string[];
  /** The words in the order in which they were written, without blanks: `mcdonald`. */
  readonly joined: string;
  /** The marks that distinguish two parties of one name: `jr`, `iii`, `12`. Sorted. */
  readonly marks: readonly string[];
}

export interface PlainAddress {
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
