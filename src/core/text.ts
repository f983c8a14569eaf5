// Text on its way out: to a terminal, a shell, XML. Nothing else writes to a terminal: names,
// notes, error words and addresses come from elsewhere, and some characters are commands to it or
// turn what is read around: U+009B begins a sequence as ESC [ does, U+202E reverses a line, U+2028
// ends one.

import {fold, type TerminalStream, widthOf} from './terminal.ts';

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
export function tell(text: string): void {
  process.stdout.write(toPrintable(text));
}

/** Writes whole lines for a person to standard output; to a terminal none that it would break. */
export function tellFolded(text: string): void {
  process.stdout.write(toWidth(toPrintable(text), process.stdout));
}

/** Writes the whole lines that go beside it, to standard error, for a person as well. */
export function tellAside(text: string): void {
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
export function tellStep(step: string): void {
  tellAside(`${step} …\n`);
}

/**
 * Passes on what a line editor draws while a person types: it moves the cursor, and holds no text
 * but ours and the person's.
 */
export function drawAside(chunk: Uint8Array): void {
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
