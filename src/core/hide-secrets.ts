// A service, a proxy or a database can answer with what was sent to it, in any spelling. This is
// the one place that knows how a secret is found in a text, for the log, for errors and for what is
// kept of them.

import {
  dropBlanks,
  fold,
  readBackslashes,
  readBase64,
  readEntities,
  readHex,
  readPercents,
  toView,
  type View,
} from './disguises.ts';
import type {Secret} from './secret.ts';

/** A shorter secret would be found in every sentence: no text is kept clean of it. */
export const fewestHidden = 4;
/**
 * A shorter secret is hidden where it is a word by itself, in its own case: it may be a part of
 * ordinary words.
 */
const fewestAnywhere = 8;
/** How many disguises are taken off one after another. */
const deepest = 4;

/**
 * So much of the beginning of a secret is hidden where the text was cut behind it, which folds to
 * three dots.
 */
const fewestOfCut = 6;
/** So many characters in hex or base64 are read, where the secret is not shorter. */
const fewestInRun = 12;
const halfEscape = String.raw`^(?:&#?x?[0-9a-f]{0,5}|%[0-9a-f]?|\\\\?u?[0-9a-f]{0,3})?`;
const cut = new RegExp(`${halfEscape}["'>]*\\.{3}`);
const cutOrEnd = new RegExp(`${halfEscape}["'>]*(?:\\.{3}|$)`);

const mask = '[secret]';

/** A way to hide some secrets, made ready for many texts. */
export type Hide = (text: string) => string;

/**
 * The text with `[secret]` in the place of each secret: in any case, with blanks or invisible
 * characters between, in hex, base64, percent-encoding, entities or backslash escapes, and in one
 * of these within another. A secret of less than 8 characters is hidden where it is a whole word in
 * its own case, one of less than 4 nowhere.
 */
export function hideSecrets(text: string, secrets: readonly Secret[]): string {
  return hiderOf(secrets)(text);
}

/** Hides the same secrets in many texts. */
export function hiderOf(secrets: readonly Secret[]): Hide {
  const all = secrets.flatMap((secret) => needlesOf(secret.reveal()));
  if (all.length === 0) return (text) => text;
  // One pattern for all: asking for each costs a walk through the text.
  const any = new RegExp(all.map(({text}) => RegExp.escape(text.slice(0, fewestOfCut))).join('|'));
  const fewest = Math.min(...all.map(({length}) => length));
  const needles = {all, any, fewest, hasWords: all.some(({word}) => word !== null)};
  return (text) => {
    const found = findAll(text, needles);
    return found.length === 0 ? text : putMasks(text, found);
  };
}

/**
 * Hides in the message of an error, in its stack and in its causes.
 * @returns the same error, to be thrown
 */
export function hideInError(error: unknown, hide: Hide): unknown {
  for (let each = error; each instanceof Error; each = each.cause) {
    const {message, stack} = each;
    if (hide(message) !== message) each.message = hide(message);
    if (stack !== undefined && hide(stack) !== stack) each.stack = hide(stack);
  }
  return error;
}

interface Needle {
  /** Folded, as texts are when they are searched. */
  readonly text: string;
  /** Of a short secret, which is then looked for in the text as it is. */
  readonly word: RegExp | null;
  /** The fewest characters in which it is looked for. */
  readonly length: number;
}

interface Needles {
  readonly all: readonly Needle[];
  /** Found in each folded text that holds any of them, or the beginning of one. */
  readonly any: RegExp;
  readonly fewest: number;
  readonly hasWords: boolean;
}

function needlesOf(secret: string): Needle[] {
  const folded = foldText(secret);
  if (folded.length < fewestHidden) return [];
  const length = Math.min(folded.length, secret.length, fewestInRun);
  if (folded.length < fewestAnywhere) return [{text: folded, word: toWord(secret), length}];
  // Base64 in another case can be read by nobody, but by one who tries each case of each letter.
  const spelled = [
    secret.includes(' ') ? secret.replaceAll(' ', '+') : secret,
    ...listBase64(secret),
  ];
  const texts = new Set([folded, ...spelled.map(foldText)]);
  return [...texts].map((text) => ({text, word: null, length}));
}

function foldText(text: string): string {
  return fold(dropBlanks(toView(text))).text;
}

function toWord(secret: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(secret)}(?![\\p{L}\\p{N}])`, 'gu');
}

/**
 * The characters of base64 that hold nothing but the secret, in each way in which it can be set in
 * a longer text.
 */
function listBase64(secret: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor((bytes.length * 8) / 6);
    return [bytes.toString('base64').slice(from, to), bytes.toString('base64url').slice(from, to)];
  });
}

/**
 * A longer text is searched in pieces, so that its views fit into memory; pieces overlap by more
 * than a disguise takes.
 */
const pieceLength = 262_144;
const overlap = 16_384;

function findAll(text: string, needles: Needles): Range[] {
  const found: Range[] = [];
  for (let from = 0; from === 0 || from + overlap < text.length; from += pieceLength - overlap) {
    const piece = text.slice(from, from + pieceLength);
    for (const {start, end} of new Search(needles).in(piece))
      found.push({start: from + start, end: from + end});
  }
  return found;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** One search for the secrets in a text, and in all that it can be read as. */
class Search {
  readonly #needles: Needles;
  /** The least depth at which each text was searched. */
  readonly #seen = new Map<string, number>();
  readonly #found: Range[] = [];

  constructor(needles: Needles) {
    this.#needles = needles;
  }

  in(text: string): readonly Range[] {
    this.#search(toView(text), 0);
    return this.#found;
  }

  #search(view: View, depth: number): void {
    const {any, fewest, hasWords} = this.#needles;
    if (view.text.length < Math.min(fewest, fewestOfCut)) return;
    const place = `${view.starts[0]} ${view.text}`;
    if (depth >= (this.#seen.get(place) ?? Number.POSITIVE_INFINITY)) return;
    this.#seen.set(place, depth);
    const dense = dropBlanks(view);
    const folded = fold(dense);
    if (any.test(folded.text)) this.#match(view, folded);
    if (depth === deepest) return;
    // A short secret is a word, and words are known by the blanks between them.
    for (const from of hasWords ? [view, dense] : [dense])
      for (const read of [readEntities, readPercents, readBackslashes]) {
        const next = read(from);
        if (next !== from) this.#search(next, depth + 1);
      }
    for (const read of [readHex, readBase64])
      for (const next of read(dense, fewest)) this.#search(next, depth + 1);
  }

  #match(view: View, folded: View): void {
    for (const {text, word} of this.#needles.all) {
      if (word === null) this.#matchFolded(folded, text);
      else
        for (const {index, 0: found} of view.text.matchAll(word))
          this.#add(view, index, found.length);
    }
  }

  #matchFolded(folded: View, needle: string): void {
    const begin = needle.slice(0, fewestOfCut);
    for (let at = folded.text.indexOf(begin); at !== -1; at = folded.text.indexOf(begin, at + 1)) {
      let length = begin.length;
      while (length < needle.length && folded.text[at + length] === needle[length]) length++;
      if (length === needle.length || isCut(folded.text, at + length))
        this.#add(folded, at, length);
    }
  }

  #add({starts, ends}: View, at: number, length: number): void {
    this.#found.push({start: starts[at] ?? 0, end: ends[at + length - 1] ?? 0});
  }
}

/** Whether a text was cut here by us, or ends; half an escape may stand before that. */
function isCut(text: string, at: number): boolean {
  const most = 12;
  const isNearEnd = text.length - at < most;
  return (isNearEnd ? cutOrEnd : cut).test(text.slice(at, at + most));
}

function putMasks(text: string, found: readonly Range[]): string {
  let shown = '';
  let from = 0;
  for (const {start, end} of found.toSorted((one, other) => one.start - other.start)) {
    if (end <= from) continue;
    // The two halves of Basic credentials in base64 are one secret.
    const isNext = shown.endsWith(mask) && /^[\w+/-]{0,2}$/.test(text.slice(from, start));
    if (!isNext) shown += text.slice(from, start) + mask;
    from = end;
  }
  return shown + text.slice(from);
}
