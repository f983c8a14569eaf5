// The file of an outside system: its customers or employees, and a person's decisions about those
// that may be several of ours. It is CSV, however its columns are separated, or NDJSON. If a line
// cannot be read, only that line is lost.

import {UsageError} from '../core/errors.ts';
import {formulaStart, isId} from '../core/text.ts';
import type {Party} from './party.ts';

/** A line of a file, counted from 1: its values by column, or why it cannot be read. */
export type FileLine =
  | {readonly line: number; readonly values: Readonly<Record<string, string>>}
  | RefusedLine;

export interface RefusedLine {
  readonly line: number;
  readonly refusal: string;
}

/** A cell has no more lines than this: a quote that is not closed costs one line, not all. */
const longestCell = 50;
const separators = [',', ';', '\t', '|'];

/** Lines in order; some can be given back. */
class Lines {
  readonly #source: AsyncIterator<string>;
  readonly #back: string[] = [];
  /** The number of the line that came last. */
  at = 0;

  constructor(source: AsyncIterable<string>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async next(): Promise<string | null> {
    const back = this.#back.shift();
    const line = back === undefined ? await this.#read() : back;
    if (line !== null) this.at++;
    return line;
  }

  async #read(): Promise<string | null> {
    const {done, value} = await this.#source.next();
    return done === true ? null : value;
  }

  giveBack(lines: readonly string[]): void {
    this.#back.unshift(...lines);
    this.at -= lines.length;
  }
}

/**
 * Yields the lines of a file except its header and empty ones.
 * @param source - each line without its end
 */
export async function* readFileLines(source: AsyncIterable<string>): AsyncGenerator<FileLine> {
  const lines = new Lines(source);
  const first = await nextFilled(lines);
  if (first === null) return;
  const header = first.replace(/^\uFEFF/, '');
  if (header.trimStart().startsWith('{')) {
    lines.giveBack([header]);
    yield* readObjects(lines);
  } else yield* readRecords(lines, header);
}

async function nextFilled(lines: Lines): Promise<string | null> {
  for (let line = await lines.next(); line !== null; line = await lines.next())
    if (line.trim() !== '') return line;
  return null;
}

async function* readObjects(lines: Lines): AsyncGenerator<FileLine> {
  for (let text = await nextFilled(lines); text !== null; text = await nextFilled(lines))
    yield readObject(text, lines.at);
}

function readObject(text: string, line: number): FileLine {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return {line, refusal: 'expected a JSON object on one line, got something else'};
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return {line, refusal: 'expected a JSON object, got another value'};
  const values: Record<string, string> = {};
  for (const [column, value] of Object.entries(parsed)) {
    if (typeof value === 'object' && value !== null)
      return {line, refusal: `column ${column}: expected a text or a number, got a nested value`};
    values[column.trim().toLowerCase()] = value === null ? '' : String(value).trim();
  }
  return checkText({line, values});
}

async function* readRecords(lines: Lines, header: string): AsyncGenerator<FileLine> {
  const separator = chooseSeparator(header);
  const columns = splitCells(header, separator).cells.map((name) => name.trim().toLowerCase());
  for (let text = await nextFilled(lines); text !== null; text = await nextFilled(lines)) {
    const line = lines.at;
    const cells = await readCells(lines, text, separator);
    if (cells === null) yield {line, refusal: 'a quote is not closed, or something is behind it'};
    else if (cells.length !== columns.length)
      yield {line, refusal: `expected ${columns.length} cells, got ${cells.length}`};
    else {
      const pairs = columns.map((column, at) => [column, (cells[at] ?? '').trim()]);
      yield checkText({line, values: Object.fromEntries(pairs)});
    }
  }
}

function chooseSeparator(header: string): string {
  const counted = separators.map((separator) => ({
    separator,
    count: header.split(separator).length,
  }));
  return counted.reduce((best, each) => (each.count > best.count ? each : best)).separator;
}

/**
 * The cells of a record, which may continue over further lines. Null if the record has no end, or a
 * quote in the middle of a cell: then the beginning of another cell was taken for its end.
 */
async function readCells(
  lines: Lines,
  first: string,
  separator: string,
): Promise<readonly string[] | null> {
  let text = first;
  const further: string[] = [];
  for (;;) {
    const {cells, end} = splitCells(text, separator);
    if (end === 'whole') return cells;
    const next = end === 'open' && further.length < longestCell ? await lines.next() : null;
    if (next === null) {
      lines.giveBack(further);
      return null;
    }
    further.push(next);
    text += `\n${next}`;
  }
}

interface SplitCells {
  readonly cells: readonly string[];
  /** `open`: its last quote is not closed; `broken`: something follows a quoted cell. */
  readonly end: 'whole' | 'open' | 'broken';
}

function splitCells(text: string, separator: string): SplitCells {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    const cell = readCell(text, at, separator);
    if (cell === null) return {cells, end: 'open'};
    cells.push(cell.value);
    if (cell.end === text.length) return {cells, end: 'whole'};
    if (text.charAt(cell.end) !== separator) return {cells, end: 'broken'};
    at = cell.end + 1;
  }
}

/** Null: its quote is not closed. */
function readCell(
  text: string,
  from: number,
  separator: string,
): {readonly value: string; readonly end: number} | null {
  const [, quoted] = /^ *("?)/.exec(text.slice(from, from + 20)) ?? [];
  if (quoted !== '"') {
    const next = text.indexOf(separator, from);
    const end = next < 0 ? text.length : next;
    return {value: text.slice(from, end), end};
  }
  const pattern = /"((?:[^"]|"")*)" */y;
  pattern.lastIndex = text.indexOf('"', from);
  const [, inside] = pattern.exec(text) ?? [];
  if (inside === undefined) return null;
  return {value: inside.replaceAll('""', '"'), end: pattern.lastIndex};
}

/** Bytes that are not UTF-8 arrive as U+FFFD. */
function checkText(read: {
  readonly line: number;
  readonly values: Readonly<Record<string, string>>;
}): FileLine {
  const [column] = Object.entries(read.values).find(([, value]) => value.includes('\uFFFD')) ?? [];
  if (column === undefined) return read;
  return {line: read.line, refusal: `column ${column}: expected UTF-8, got other bytes`};
}

/** Columns of a file of parties; only `key` is required. */
export const partyColumns = [
  ...['key', 'name', 'phone', 'mobile', 'email'],
  ...['street', 'city', 'zip'],
] as const;

interface ReadParties {
  readonly parties: readonly Party[];
  readonly refused: readonly RefusedLine[];
  /** Columns that are not read. */
  readonly unknown: readonly string[];
}

/** The limit of sync.set_link. */
const longestKey = 200;

/**
 * @param name - the name of the file, for a person
 * @throws {UsageError} the file has no column `key`
 */
export async function readParties(
  lines: AsyncIterable<FileLine>,
  name: string,
): Promise<ReadParties> {
  const lineOf = new Map<string, number>();
  const read = await readEach(lines, (values, line) => {
    const refusal = checkKey(values.key, lineOf) ?? checkParty(values);
    if (refusal !== null) return refusal;
    const party = toParty(values);
    lineOf.set(party.id, line);
    return party;
  });
  const {taken: parties, refused, columns} = read;
  requireColumns(['key'], columns, name);
  const unknown = [...columns].filter((column) => !partyColumns.some((known) => known === column));
  return {parties, refused, unknown};
}

/** @param take - returns the value of a line, the reason why it is refused, or null to skip it */
async function readEach<T extends object>(
  lines: AsyncIterable<FileLine>,
  take: (values: Values, line: number) => T | string | null,
) {
  const taken: T[] = [];
  const refused: RefusedLine[] = [];
  const columns = new Set<string>();
  for await (const read of lines) {
    if ('refusal' in read) {
      refused.push(read);
      continue;
    }
    const {line, values} = read;
    for (const column of Object.keys(values)) columns.add(column);
    const found = take(values, line);
    if (typeof found === 'string') refused.push({line, refusal: found});
    else if (found !== null) taken.push(found);
  }
  return {taken, refused, columns};
}

function requireColumns(
  wanted: readonly string[],
  columns: ReadonlySet<string>,
  name: string,
): void {
  const missing = wanted.filter((column) => !columns.has(column));
  if (columns.size === 0)
    throw new UsageError(
      `${name}: expected CSV with a header, or a JSON object on each line, got no line of values`,
    );
  if (missing.length > 0)
    throw new UsageError(
      `${name}: expected the columns ${wanted.join(', ')}, got ${[...columns].join(', ')}`,
    );
}

function checkKey(key = '', lineOf: ReadonlyMap<string, number>): string | null {
  if (key === '') return 'has no key';
  if (key.length > longestKey)
    return `key: expected 1 to ${longestKey} characters, got ${key.length}`;
  const before = lineOf.get(key);
  return before === undefined ? null : `key ${key}: line ${before} has it already`;
}

function checkParty({name = '', phone = '', mobile = '', email = ''}: Values): string | null {
  const isBare = [name, phone, mobile, email].every((value) => value === '');
  return isBare ? 'has no name, phone, mobile and email to be found by' : null;
}

type Values = Readonly<Record<string, string>>;

function toParty(values: Values): Party {
  const {key = '', name = '', phone = '', mobile = '', email = ''} = values;
  const {street = '', city = '', zip = ''} = values;
  return {
    ...{id: key, name, phones: [phone, mobile], emails: [email]},
    addresses: [{street, city, zip}],
  };
}

/** A link that a person has decided. */
interface DecidedLink {
  readonly line: number;
  readonly key: string;
  readonly rowId: string;
}

interface ReadDecisions {
  readonly links: readonly DecidedLink[];
  readonly refused: readonly RefusedLine[];
}

const yes = ['yes', 'y', 'x', 'true', '1'];
const no = ['no', 'n', 'false', '0', ''];

/**
 * Reads lines with `key`, `row_id` and `link`: `yes` or nothing. Other columns are for the person.
 * @throws {UsageError} one of these columns is missing
 */
export async function readDecisions(
  lines: AsyncIterable<FileLine>,
  name: string,
): Promise<ReadDecisions> {
  const lineOfKey = new Map<string, number>();
  const lineOfRow = new Map<string, number>();
  const read = await readEach(lines, ({key: guarded = '', row_id: rowId = '', link = ''}, line) => {
    if (no.includes(link.toLowerCase())) return null;
    const key = unguard(guarded);
    const refusal = checkWord(link) ?? checkKey(key, lineOfKey) ?? checkRow(rowId, lineOfRow);
    if (refusal !== null) return refusal;
    lineOfKey.set(key, line);
    lineOfRow.set(rowId, line);
    return {line, key, rowId};
  });
  const {taken: links, refused, columns} = read;
  // If there were no candidates, the file has its header alone.
  if (columns.size > 0) requireColumns(['key', 'row_id', 'link'], columns, name);
  return {links, refused};
}

function checkWord(link: string): string | null {
  if (yes.includes(link.toLowerCase())) return null;
  return `link: expected yes or nothing, got ${JSON.stringify(link.slice(0, 40))}`;
}

function checkRow(rowId: string, lineOf: ReadonlyMap<string, number>): string | null {
  if (!isId(rowId)) return `row_id: expected a number, got ${JSON.stringify(rowId.slice(0, 40))}`;
  const before = lineOf.get(rowId);
  return before === undefined ? null : `row ${rowId}: line ${before} links it already`;
}

const formula = new RegExp(formulaStart);

/** A cell of CSV that no spreadsheet runs as a formula: `unguard` removes the apostrophe. */
export function guardCell(text: string): string {
  const guarded = formula.test(text) ? `'${text}` : text;
  return /[",;\n\r\t|]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function unguard(text: string): string {
  return text.startsWith("'") && formula.test(text.slice(1)) ? text.slice(1) : text;
}
