// A service, a proxy or a database can return what was sent to it, in any case and encoding. This
// file alone finds secrets in a text, for the log, for errors and for what is stored of them. It
// decodes the encodings of a text one by one. For every character, the decoded view keeps the place
// in the first text that it came from.

import type {Secret} from './secret.ts';
import {mapEach, replaceEach, toView, type View} from './text-view.ts';

/** A shorter secret is not hidden: it would be found in every sentence. */
const fewestHidden = 4;
/**
 * A shorter secret is hidden only as a separate word, in its own case: it may be a part of ordinary
 * words.
 */
const fewestAnywhere = 8;
/** How many nested encodings are decoded. */
const deepest = 4;

/**
 * If the text was cut within a secret, at least this many characters of its beginning are hidden.
 * The sign of the cut folds to three dots.
 */
const fewestOfCut = 6;
/**
 * Runs of hex or base64 are decoded if they hold at least this many characters, or as many as a
 * shorter secret has.
 */
const fewestInRun = 12;
const halfEscape = String.raw`^(?:&#?x?[0-9a-f]{0,5}|%[0-9a-f]?|\\\\?u?[0-9a-f]{0,3})?`;
const cut = new RegExp(`${halfEscape}["'>]*\\.{3}`);
const cutOrEnd = new RegExp(`${halfEscape}["'>]*(?:\\.{3}|$)`);

const mask = '[secret]';

/** Hides some secrets in a text; it is prepared once for many texts. */
export type Hide = (text: string) => string;

/**
 * Makes the function that puts `[secret]` in the place of each secret: in any case, with blanks or
 * invisible characters between, in hex, base64, percent-encoding, entities or backslash escapes,
 * and in one of these within another. A secret of less than 8 characters is hidden only as a whole
 * word in its own case, one of less than 4 not at all.
 */
export function makeHider(secrets: readonly Secret[]): Hide {
  const all = secrets.flatMap((secret) => makeNeedles(secret.reveal()));
  if (all.length === 0) return (text) => text;
  // One pattern for all secrets: a search for each would cost a pass through the text.
  const any = new RegExp(all.map(({text}) => RegExp.escape(text.slice(0, fewestOfCut))).join('|'));
  const fewest = Math.min(...all.map(({length}) => length));
  const needles = {all, any, fewest, hasWords: all.some(({word}) => word !== null)};
  return (text) => {
    const ranges = findAll(text, needles);
    return ranges.length === 0 ? text : putMasks(text, ranges);
  };
}

/**
 * Hides secrets in the message of an error, in its stack and in its causes.
 * @returns the same error, to be thrown
 */
export function hideInError(error: unknown, hide: Hide): unknown {
  for (let current = error; current instanceof Error; current = current.cause) {
    const {message, stack} = current;
    if (hide(message) !== message) current.message = hide(message);
    if (stack !== undefined && hide(stack) !== stack) current.stack = hide(stack);
  }
  return error;
}

interface Needle {
  /** Folded, as texts are when they are searched. */
  readonly text: string;
  /** The pattern of a short secret, which is searched for in the text as it is; null for others. */
  readonly word: RegExp | null;
  /** The fewest characters of a text in which it is searched for. */
  readonly length: number;
}

interface Needles {
  readonly all: readonly Needle[];
  /** Matches each folded text that holds any of them, or the beginning of one. */
  readonly any: RegExp;
  readonly fewest: number;
  readonly hasWords: boolean;
}

function makeNeedles(secret: string): Needle[] {
  const folded = foldText(secret);
  if (folded.length < fewestHidden) return [];
  const length = Math.min(folded.length, secret.length, fewestInRun);
  if (folded.length < fewestAnywhere) return [{text: folded, word: toWordPattern(secret), length}];
  // Base64 in another case cannot be decoded without trying each case of each letter, so the folded
  // base64 of the secret is a needle as well.
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

function toWordPattern(secret: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(secret)}(?![\\p{L}\\p{N}])`, 'gu');
}

/**
 * The base64 characters that encode nothing but the secret, for each of the three offsets at which
 * it can occur in a longer text.
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
 * than an encoded secret occupies.
 */
const pieceLength = 262_144;
const overlap = 16_384;

function findAll(text: string, needles: Needles): Range[] {
  const ranges: Range[] = [];
  for (let from = 0; from === 0 || from + overlap < text.length; from += pieceLength - overlap) {
    const piece = text.slice(from, from + pieceLength);
    for (const {start, end} of new Search(needles).in(piece))
      ranges.push({start: from + start, end: from + end});
  }
  return ranges;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** One search for the secrets in a text, and in everything that it can be decoded to. */
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
    const searchKey = `${view.starts[0]} ${view.text}`;
    if (depth >= (this.#seen.get(searchKey) ?? Number.POSITIVE_INFINITY)) return;
    this.#seen.set(searchKey, depth);
    const dense = dropBlanks(view);
    const folded = fold(dense);
    if (any.test(folded.text)) this.#match(view, folded);
    if (depth === deepest) return;
    // A short secret is found as a word, by the blanks around it, so the view with blanks is read,
    // too.
    for (const source of hasWords ? [view, dense] : [dense])
      for (const readEscapes of [readEntities, readPercents, readBackslashes]) {
        const decoded = readEscapes(source);
        if (decoded !== source) this.#search(decoded, depth + 1);
      }
    for (const readRuns of [readHex, readBase64])
      for (const decoded of readRuns(dense, fewest)) this.#search(decoded, depth + 1);
  }

  #match(view: View, folded: View): void {
    for (const {text, word} of this.#needles.all) {
      if (word === null) this.#matchFolded(folded, text);
      else
        for (const {index, 0: foundText} of view.text.matchAll(word))
          this.#add(view, index, foundText.length);
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

/** Whether we cut the text here, or it ends here; half an escape may come before that. */
function isCut(text: string, at: number): boolean {
  const most = 12;
  const isNearEnd = text.length - at < most;
  return (isNearEnd ? cutOrEnd : cut).test(text.slice(at, at + most));
}

function putMasks(text: string, ranges: readonly Range[]): string {
  let result = '';
  let from = 0;
  for (const {start, end} of ranges.toSorted((left, right) => left.start - right.start)) {
    if (end <= from) continue;
    // The two halves of Basic credentials in base64 are one secret.
    const isNext = result.endsWith(mask) && /^[\w+/-]{0,2}$/.test(text.slice(from, start));
    if (!isNext) result += text.slice(from, start) + mask;
    from = end;
  }
  return result + text.slice(from);
}

const asciiBlanks = /[\0-\x20\x7f]+/g;
const blank = /[\p{C}\p{Z}\s\p{Default_Ignorable_Code_Point}]/u;
/** ASCII characters in full width, as in Chinese text. */
const wide = /[\uff01-\uff5e]/;
const marks = /[\p{M}\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;
const beyondAscii = /[^\0-\x7f]/;

/** Removes blanks, control characters and invisible characters, and makes wide letters narrow. */
function dropBlanks(view: View): View {
  if (!beyondAscii.test(view.text)) return replaceEach(view, asciiBlanks, () => '');
  if (!blank.test(view.text) && !wide.test(view.text)) return view;
  return mapEach(view, (char, code) => {
    if (wide.test(char)) return String.fromCodePoint(code - 0xfee0);
    return blank.test(char) ? '' : char;
  });
}

/** Removes the differences of upper and lower case, of forms of a character, and of accents. */
function fold(view: View): View {
  if (!beyondAscii.test(view.text)) return {...view, text: view.text.toLowerCase()};
  return mapEach(view, (char, code) => (code < 0x80 ? char.toLowerCase() : foldLetter(char)));
}

/** Lower case is applied first: a capital sharp s is its own upper case, unlike the small one. */
function foldLetter(char: string): string {
  const upper = char.toLowerCase().toUpperCase();
  return upper.normalize('NFKD').replaceAll(marks, '').toLowerCase();
}

const entityName = 'lt|gt|quot|apos|amp|nbsp|shy|zwj|zwnj|zerowidthspace|newline|tab';
const entity = new RegExp(`&(?:#x([0-9a-f]{1,6})|#(\\d{1,7})|(${entityName}));?`, 'gi');
const namedEntities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  amp: '&',
};

/** Reads entities of XML and HTML, with or without their semicolon. */
function readEntities(view: View): View {
  if (!view.text.includes('&')) return view;
  return readEach(view, entity, ([, hex, decimal, name]) =>
    name === undefined
      ? toCharacter(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
      : (namedEntities[name.toLowerCase()] ?? ''),
  );
}

/** Reads percent-encoding, of bytes and of UTF-16 (`%u0041`). */
function readPercents(view: View): View {
  if (!view.text.includes('%')) return view;
  return readEach(view, /%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/gi, ([, unit, byte]) =>
    String.fromCharCode(Number.parseInt(unit ?? byte ?? '', 16)),
  );
}

const backslash =
  /\\(?:u\{([0-9a-f]{1,6})\}|u(000[01][0-9a-f]{4}|[0-9a-f]{4})|x([0-9a-f]{2})|(.))/gisu;

/**
 * Reads the backslash escapes of JSON, JavaScript, C and Python; those of blanks and controls are
 * dropped.
 */
function readBackslashes(view: View): View {
  if (!view.text.includes('\\')) return view;
  return readEach(view, backslash, ([, braced, unit, byte, escaped = '']) => {
    const hex = braced ?? unit ?? byte;
    if (hex !== undefined) return toCharacter(Number.parseInt(hex, 16));
    return /[nrtbfv0]/i.test(escaped) ? '' : escaped;
  });
}

/**
 * The texts that a run of hexadecimal digits can encode; colons or dashes may separate the bytes.
 */
function readHex(view: View, fewest: number): View[] {
  return findRuns(view, '0-9A-Fa-f:-', 2 * fewest).flatMap(({0: digits, index}) => {
    const places: number[] = [];
    for (let at = 0; at < digits.length; at++)
      if (/[^:-]/.test(digits[at] ?? '')) places.push(index + at);
    return [0, 1].flatMap((first) => {
      const used = places.slice(first);
      const bytes = Buffer.from(used.map((at) => view.text[at]).join(''), 'hex');
      const placeOf = (byte: number) => [used[2 * byte] ?? 0, used[2 * byte + 1] ?? 0] as const;
      return readBytes(view, {bytes, placeOf, fewest});
    });
  });
}

/**
 * The texts that a run of base64 can encode, in either alphabet: the encoded text may begin at any
 * of four characters.
 */
function readBase64(view: View, fewest: number): View[] {
  return findRuns(view, 'A-Za-z0-9+/_-', Math.ceil((4 * fewest) / 3)).flatMap(
    ({0: characters, index}) =>
      [0, 1, 2, 3].flatMap((first) => {
        const bytes = Buffer.from(characters.slice(first), 'base64');
        const placeOf = (byte: number) => {
          const from = index + first + Math.floor((4 * byte) / 3);
          const isLast = byte === bytes.length - 1;
          return [from, isLast ? index + characters.length - 1 : from + 1] as const;
        };
        return readBytes(view, {bytes, placeOf, fewest});
      }),
  );
}

/**
 * Finds the long runs of some characters. A match begins only at the beginning of a run, so that
 * many short runs cost no more than their length.
 */
function findRuns({text}: View, characters: string, fewest: number): RegExpExecArray[] {
  const run = new RegExp(`(?<![${characters}])[${characters}]{${fewest},}=*`, 'g');
  return [...text.matchAll(run)];
}

interface Bytes {
  readonly bytes: Buffer;
  /** The first and the last unit of the view from which a byte was made. */
  readonly placeOf: (byte: number) => readonly [number, number];
  readonly fewest: number;
}

/** The stretches of UTF-8 among some bytes that have at least `fewest` bytes. */
function readBytes(view: View, {bytes, placeOf, fewest}: Bytes): View[] {
  const views: View[] = [];
  let from = 0;
  const addView = (to: number) => {
    if (to - from < fewest) return;
    const starts = new Int32Array(to - from);
    const ends = new Int32Array(to - from);
    for (let at = from; at < to; at++) {
      const [first, last] = placeOf(at);
      starts[at - from] = view.starts[first] ?? 0;
      ends[at - from] = view.ends[last] ?? 0;
    }
    views.push(mergeUtf8({text: bytes.toString('latin1', from, to), starts, ends}));
  };
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOfUtf8(bytes, at);
    if (length === 0) {
      addView(at);
      from = at + 1;
    }
    at += length || 1;
  }
  addView(bytes.length);
  return views;
}

/** The number of bytes of the character that begins here; 0 if none does. */
function lengthOfUtf8(bytes: ArrayLike<number>, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (let next = 1; next < length; next++) if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

/**
 * Merges bytes of UTF-8, each of which is one character of the text, into the characters that they
 * encode.
 */
function mergeUtf8(view: View): View {
  if (!/[\u00c2-\u00f4][\u0080-\u00bf]/.test(view.text)) return view;
  return replaceEach(view, /[\u00c2-\u00f4][\u0080-\u00bf]{1,3}/g, ([matched]) => {
    const bytes = Buffer.from(matched, 'latin1');
    const length = lengthOfUtf8(bytes, 0);
    return length === 0 ? matched : bytes.toString('utf8', 0, length) + matched.slice(length);
  });
}

function toCharacter(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '';
}

/** Replaces the escapes of one kind by the characters that they mean. */
function readEach(view: View, pattern: RegExp, read: (match: RegExpExecArray) => string): View {
  return mergeUtf8(replaceEach(view, pattern, read));
}
