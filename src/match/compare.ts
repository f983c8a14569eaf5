// How alike two parties are, value by value. Only words that are told apart by a slip of the
// keyboard count as alike: a nickname is another name, which a person may judge.

import {distance} from 'fastest-levenshtein';
import type {PlainAddress, PlainName} from './party.ts';

/**
 * `same`; `near`: one word has a slip, or one side has an initial more; `part`: one side says more
 * than the other; `different`: each side has a word that the other has not.
 */
export type NameLevel = 'same' | 'near' | 'part' | 'different';

export interface ComparedNames {
  readonly level: NameLevel;
  /** Words that both have. */
  readonly shared: readonly string[];
  /** Words that differ by a slip: the one of them that more parties have. */
  readonly slips: readonly string[];
}

/** Shorter words differ by a letter and mean something else: Jon and Ron. */
const shortestSlip = 4;

/** One letter more, less or other, or two that changed places. */
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
 * @param countOf - how many parties have a word: two words that several have are two names, however
 *   alike they look
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

/** Words that at least so many parties have are no slips of each other. */
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
    const isOf = (near: string) =>
      isSlip(word, near) && Math.min(countOf(word), countOf(near)) < knownFrom;
    const at = restOther.findIndex(isOf);
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
  const alike = shared.length + slips.length;
  if (alike === 0) return 'different';
  if (rest.length > 0 && restOther.length > 0)
    return rest.every((word) => isInitialOf(word, restOther)) ? 'part' : 'different';
  const more = [...rest, ...restOther];
  if (more.some((word) => word.length > 1) || slips.length > 1) return 'part';
  if (slips.length === 0 && more.length === 0) return 'same';
  return alike > 1 ? 'near' : 'part';
}

/** `J` and John. */
function isInitialOf(word: string, others: readonly string[]): boolean {
  return others.some((other) => Math.min(word.length, other.length) === 1 && word[0] === other[0]);
}

/** A junior is not the senior; where only one side says so, a person decides. */
function judgeMarks(one: PlainName, other: PlainName, level: NameLevel): NameLevel {
  if (one.marks.join(' ') === other.marks.join(' ')) return level;
  if (one.marks.length > 0 && other.marks.length > 0) return 'different';
  return level === 'different' ? level : 'part';
}

/** The same house: its number, its street but for slips, its place. */
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
export function isOtherUnit(one: PlainAddress, other: PlainAddress): boolean {
  return one.unit !== '' && other.unit !== '' && one.unit !== other.unit;
}
