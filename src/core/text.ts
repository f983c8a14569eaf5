// Text on its way out: to a terminal, a shell, XML; and the terminal that a person looks at: how
// wide it is, and what it understands. Nothing else writes to a terminal: names, notes, error words
// and addresses come from elsewhere, and some characters are commands to it or turn what is read
// around: U+009B begins a sequence as ESC [ does, U+202E reverses a line, U+2028 ends one. A pipe
// and a file have no width, and get each line whole.

import type {WriteStream} from 'node:tty';
import {dropMarks, hasColours, paint} from './tone.ts';

/**
 * Controls of C0 and C1, controls of direction, separators of lines and paragraphs; but for a new
 * line and a tab.
 */
const unsafe = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * The text with `\u202e` in place of signs that a terminal must not get. In JSON they are the same,
 * escaped.
 */
export function toPrintable(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(
      unsafe,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}

/** A pattern, for us and for Postgres: what begins so is a formula to a spreadsheet. */
export const formulaStart = '^[-=+@\\t\\r]';

/** Writes the text that was asked for, to standard output. */
export function printOut(text: string): void {
  process.stdout.write(toPrintable(text));
}

/**
 * Writes whole lines for a person to standard output; to a terminal none that it would break, and
 * marked words in their colours where it has them.
 */
export function printFolded(text: string): void {
  const folded = toWidth(toPrintable(text), process.stdout);
  process.stdout.write(hasColours(process.stdout) ? paint(folded) : dropMarks(folded));
}

/** Writes the whole lines that go beside it, to standard error, for a person as well. */
export function printErr(text: string): void {
  process.stderr.write(toWidth(toPrintable(text), process.stderr));
}

function toWidth(text: string, stream: TerminalStream): string {
  const width = widthOf(stream);
  return width === null ? text : fold(text, width);
}

/**
 * Names a step before it begins to take its time. On standard error: standard output holds results
 * alone.
 * @param step - `starting Postgres in .fieldmirror/postgres`
 */
export function printStep(step: string): void {
  printErr(`${step} …\n`);
}

/**
 * Passes on what a line editor draws while a person types: it moves the cursor, and holds no text
 * but ours and the person's.
 */
export function printKeystrokes(chunk: Uint8Array): void {
  process.stderr.write(chunk);
}

/**
 * At most so many characters of a text; the sign of what was left out also tells that a secret in
 * it may be cut.
 */
export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** The text with a capital at its beginning. */
export function capitalise(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A word as a shell takes it: `'import 4711'`. */
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

/** A text as it stands in XML and HTML. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

// Numbers that name something: a record, a row, a change, a sweep. They are texts: a bigint of
// Postgres may be more than a number of JavaScript holds.

/** From 1 on, without zeros before it; of so many digits that every one is a bigint. */
export const idPattern = /^[1-9]\d{0,17}$/;

export function isId(text: string): boolean {
  return idPattern.test(text);
}

/** What of a stream decides; standard output that is no terminal has none of it. */
type TerminalStream = Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

/** A terminal that tells no width is as wide as those of old. */
const usualWidth = 80;
/** Narrower ones get lines of this width: a word in each line helps nobody. */
const leastWidth = 40;

/** Columns of a terminal; null for a pipe or a file. */
export function widthOf(stream: TerminalStream): number | null {
  if (stream.isTTY !== true) return null;
  return Math.max(leastWidth, stream.columns || usualWidth);
}

/** Whether something may be drawn in place: a dumb terminal shows the commands as signs. */
export function canDraw(
  stream: TerminalStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/** The lines of a text, none wider than the width, but where a single word is. */
export function fold(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => foldLine(line, width))
    .join('\n');
}

const isTable = /^[┌├└│]/;
const isCommand = /^\s*(?:fieldmirror|npm|npx|docker|psql) /;

function foldLine(line: string, width: number): string[] {
  if (countColumns(line) <= width || isTable.test(line)) return [line];
  const [, command, remark] = /^(\s*\S.*?) {2,}# (.*)$/.exec(line) ?? [];
  const indent = /^ */.exec(line)?.[0] ?? '';
  if (command !== undefined && remark !== undefined)
    return [
      ...foldLine(command, width),
      ...foldWords(remark, {width, first: `${indent}  # `, next: `${indent}  # `}),
    ];
  const hanging = {width, first: indent, next: `${indent}    `};
  if (!isCommand.test(line)) return foldWords(line.trim(), hanging);
  // A shell takes what is copied in one.
  const lines = foldWords(line.trim(), {...hanging, width: width - 2});
  return lines.map((each, at) => (at === lines.length - 1 ? each : `${each} \\`));
}

/** How a text is broken: the width, and what each line begins with. */
interface Folding {
  readonly width: number;
  readonly first: string;
  readonly next: string;
}

/** Breaks a text where it has blanks; those within a line stay as they are. */
export function foldWords(text: string, {width, first, next}: Folding): string[] {
  const lines: string[] = [];
  let open = first;
  let columns = countColumns(first);
  let isEmpty = true;
  for (const [, blanks = '', word = ''] of text.matchAll(/( *)([^ ]+)/g)) {
    const added = isEmpty ? word : blanks + word;
    const wanted = countColumns(added);
    if (isEmpty || columns + wanted <= width) {
      open += added;
      columns += wanted;
    } else {
      lines.push(open);
      open = next + word;
      columns = countColumns(open);
    }
    isEmpty = false;
  }
  return [...lines, open];
}

const isPlain = /^[ -~]*$/;
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u;

/** The columns that a text takes: two for a sign of East Asia, none for an accent or a mark. */
export function countColumns(text: string): number {
  if (isPlain.test(text)) return text.length;
  let columns = 0;
  for (const sign of text) {
    if (/[\p{Mn}\ufdd0-\ufdd2]/u.test(sign)) continue;
    columns += wide.test(sign) ? 2 : 1;
  }
  return columns;
}
