// Prepares text for a terminal, a shell or XML, colours the words for good and bad states, and
// finds the width and the abilities of a terminal. Only this file writes to a terminal. Names,
// notes, error messages and addresses come from elsewhere. Some of their characters are commands to
// a terminal, or reverse what is read: U+009B begins a sequence as ESC [ does, U+202E reverses a
// line, U+2028 ends one. A pipe and a file have no width, and get each line whole.

import type {WriteStream} from 'node:tty';

/** The state of a thing: good, in progress, to be checked, wrong, or anything else. */
export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet';

const tones: Readonly<Record<string, Tone>> = {
  good: 'good',
  certified: 'good',
  refreshed: 'good',
  done: 'good',
  active: 'good',
  running: 'busy',
  due: 'busy',
  pending: 'busy',
  sending: 'busy',
  warning: 'warning',
  held: 'warning',
  paused: 'warning',
  uncertified: 'warning',
  'in doubt': 'warning',
  altered: 'warning',
  bad: 'bad',
  conflict: 'bad',
  rejected: 'bad',
  stopped: 'bad',
  failed: 'bad',
};

/** @param state - of a sweep, a change or an account, or the verdict of a check */
export function toneOf(state: string): Tone {
  return tones[state.replace('_', ' ')] ?? 'quiet';
}

/** The properties of a stream that decide whether it shows colours. */
type ColourStream = Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>;

/** Whether colours are shown: not in a pipe, not if `NO_COLOR` is set, not at a dumb terminal. */
export function hasColours(
  stream: ColourStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const isRefused = (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  return stream.isTTY === true && !isRefused && stream.hasColors?.({...env}) === true;
}

/** The tones that have a colour. A mark is a noncharacter of Unicode, so no text needs it. */
const palette: readonly {readonly tone: Tone; readonly mark: string; readonly code: string}[] = [
  {tone: 'good', mark: '\ufdd0', code: '\u001b[32m'},
  {tone: 'warning', mark: '\ufdd1', code: '\u001b[33m'},
  {tone: 'bad', mark: '\ufdd2', code: '\u001b[31m'},
];
const colourEnd = '\u001b[39m';

/**
 * Marks each word of a state, for a text that is printed for a person. So a word that is cut or
 * folded keeps its colour; the marks occupy no columns.
 * @param tone - by default, the tone of the state that the words name
 */
export function inTone(words: string, tone: Tone = toneOf(words)): string {
  const mark = palette.find((entry) => entry.tone === tone)?.mark;
  return mark === undefined ? words : words.replaceAll(/\S+/g, (word) => mark + word);
}

/** The text with the marked words in their colours. */
export function paint(text: string): string {
  let painted = text;
  for (const {mark, code} of palette)
    painted = painted.replaceAll(
      new RegExp(`${mark}([^\\s\\ufdd0-\\ufdd2,:│]+)`, 'g'),
      `${code}$1${colourEnd}`,
    );
  return dropMarks(painted);
}

export function dropMarks(text: string): string {
  return text.replaceAll(/[\ufdd0-\ufdd2]/g, '');
}

/**
 * Control characters of C0 and C1, control characters of direction, and separators of lines and
 * paragraphs, except newline and tab.
 */
const unsafe = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * The text with an escape such as `\u202e` in place of each character that a terminal must not get.
 * In JSON such an escape means the same character.
 */
export function toPrintable(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(
      unsafe,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}

/**
 * A pattern for JavaScript and Postgres: a spreadsheet reads a text that begins so as a formula.
 */
export const formulaStart = '^[-=+@\\t\\r]';

/** Writes the requested text to standard output. */
export function printOut(text: string): void {
  process.stdout.write(toPrintable(text));
}

/**
 * Writes whole lines for a person to standard output. If that is a terminal, the lines are folded
 * to its width, and marked words are coloured if it shows colours.
 */
export function printFolded(text: string): void {
  const folded = foldToWidth(toPrintable(text), process.stdout);
  process.stdout.write(hasColours(process.stdout) ? paint(folded) : dropMarks(folded));
}

/** Writes the whole lines that accompany the output to standard error, for a person as well. */
export function printErr(text: string): void {
  process.stderr.write(foldToWidth(toPrintable(text), process.stderr));
}

function foldToWidth(text: string, stream: TerminalStream): string {
  const width = widthOf(stream);
  return width === null ? text : fold(text, width);
}

/**
 * Prints the name of a slow step before it begins. It goes to standard error, because standard
 * output holds only results.
 */
export function printStep(step: string): void {
  printErr(`${step} …\n`);
}

/**
 * Writes the output of a line editor unchanged while a person types: it moves the cursor, and holds
 * no text but ours and the person's.
 */
export function printKeystrokes(chunk: Uint8Array): void {
  process.stderr.write(chunk);
}

/**
 * At most `most` characters of a text. The sign of omission also shows that a secret in the text
 * may be cut.
 */
export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** The text with a capital first letter. */
export function capitalise(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A word, quoted for a shell: `'import 4711'`. */
export function quoteWord(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text, escaped for XML and HTML. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

// Numbers that name something: a record, a row, a change, a sweep. They are texts: a bigint of
// Postgres may be more than a number of JavaScript holds.

/**
 * A number from 1 on, without leading zeros, with so few digits that it always fits into a bigint.
 */
export const idPattern = /^[1-9]\d{0,17}$/;

export function isId(text: string): boolean {
  return idPattern.test(text);
}

/**
 * The properties of a stream that are checked; standard output has none of them if it is no
 * terminal.
 */
type TerminalStream = Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

/** The width of a terminal that reports none. */
const usualWidth = 80;
/** Narrower terminals get lines of this width: lines of one word each would not be readable. */
const leastWidth = 40;

/** Columns of a terminal; null for a pipe or a file. */
export function widthOf(stream: TerminalStream): number | null {
  if (stream.isTTY !== true) return null;
  return Math.max(leastWidth, stream.columns || usualWidth);
}

/**
 * Whether output can be updated in place: a dumb terminal shows the control sequences as
 * characters.
 */
export function canDraw(
  stream: TerminalStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/**
 * Folds the lines of a text to the width. A line stays wider if it is part of a table, or has a
 * wider single word.
 */
export function fold(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => foldLine(line, width))
    .join('\n');
}

const tablePattern = /^[┌├└│]/;
const commandPattern = /^\s*(?:fieldmirror|npm|npx|docker|psql) /;

function foldLine(line: string, width: number): string[] {
  if (countColumns(line) <= width || tablePattern.test(line)) return [line];
  const [, command, remark] = /^(\s*\S.*?) {2,}# (.*)$/.exec(line) ?? [];
  const indent = /^ */.exec(line)?.[0] ?? '';
  if (command !== undefined && remark !== undefined)
    return [
      ...foldLine(command, width),
      ...foldWords(remark, {width, first: `${indent}  # `, next: `${indent}  # `}),
    ];
  const hanging = {width, first: indent, next: `${indent}    `};
  if (!commandPattern.test(line)) return foldWords(line.trim(), hanging);
  // With a backslash at each line end, a shell reads the copied lines as one command.
  const lines = foldWords(line.trim(), {...hanging, width: width - 2});
  return lines.map((folded, at) => (at === lines.length - 1 ? folded : `${folded} \\`));
}

/** How a text is broken: the width, and what each line begins with. */
interface Folding {
  readonly width: number;
  readonly first: string;
  readonly next: string;
}

/** Breaks a text at its blanks; blanks within a line stay as they are. */
export function foldWords(text: string, {width, first, next}: Folding): string[] {
  const lines: string[] = [];
  let line = first;
  let columns = countColumns(first);
  let isEmpty = true;
  for (const [, blanks = '', word = ''] of text.matchAll(/( *)([^ ]+)/g)) {
    const added = isEmpty ? word : blanks + word;
    const needed = countColumns(added);
    if (isEmpty || columns + needed <= width) {
      line += added;
      columns += needed;
    } else {
      lines.push(line);
      line = next + word;
      columns = countColumns(line);
    }
    isEmpty = false;
  }
  return [...lines, line];
}

const plainPattern = /^[ -~]*$/;
const widePattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u;

/**
 * The columns that a text occupies: two for an East Asian character or an emoji, none for an accent
 * or a mark.
 */
export function countColumns(text: string): number {
  if (plainPattern.test(text)) return text.length;
  let columns = 0;
  for (const character of text) {
    if (/[\p{Mn}\ufdd0-\ufdd2]/u.test(character)) continue;
    columns += widePattern.test(character) ? 2 : 1;
  }
  return columns;
}
