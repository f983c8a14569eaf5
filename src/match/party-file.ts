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
    const returned = this.#back.shift();
    const line = returned === undefined ? await this.#read() : returned;
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
  const first = await readFilledLine(lines);
  if (first === null) return;
  const header = first.replace(/^\uFEFF/, '');
  if (header.trimStart().startsWith('{')) {
    lines.giveBack([header]);
    yield* readObjects(lines);
  } else yield* readRecords(lines, header);
}

async function readFilledLine(lines: Lines): Promise<string | null> {
  for (let line = await lines.next(); line !== null; line = await lines.next())
    if (line.trim() !== '') return line;
  return null;
}

async function* readObjects(lines: Lines): AsyncGenerator<FileLine> {
  for (let text = await readFilledLine(lines); text !== null; text = await readFilledLine(lines))
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
  for (let text = await readFilledLine(lines); text !== null; text = await readFilledLine(lines)) {
    const line = lines.at;
    const cells = await readCells(lines, text, separator);
    if (cells === null) yield {line, refusal: 'a quote is not closed, or something is behind it'};
    else if (cells.length !== columns.length)
      yield {line, refusal: `expected ${columns.length} cells, got ${cells.length}`};
    else {
      const entries = columns.map((column, index) => [column, (cells[index] ?? '').trim()]);
      yield checkText({line, values: Object.fromEntries(entries)});
    }
  }
}

function chooseSeparator(header: string): string {
  const separatorCounts = separators.map((separator) => ({
    separator,
    count: header.split(separator).length,
  }));
  return separatorCounts.reduce((best, candidate) =>
    candidate.count > best.count ? candidate : best,
  ).separator;
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
  const furtherLines: string[] = [];
  for (;;) {
    const {cells, end} = splitCells(text, separator);
    if (end === 'whole') return cells;
    const nextLine =
      end === 'open' && furtherLines.length < longestCell ? await lines.next() : null;
    if (nextLine === null) {
      lines.giveBack(furtherLines);
      return null;
    }
    furtherLines.push(nextLine);
    text += `\n${nextLine}`;
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
  // A doubled quote never ends a cell, also where its line ends before the cell does.
  const pattern = /"((?:[^"]|"")*)"(?!") */y;
  pattern.lastIndex = text.indexOf('"', from);
  const [, inside] = pattern.exec(text) ?? [];
  if (inside === undefined) return null;
  return {value: inside.replaceAll('""', '"'), end: pattern.lastIndex};
}

/** Bytes that are not UTF-8 arrive as U+FFFD. */
function checkText(fileLine: {
  readonly line: number;
  readonly values: Readonly<Record<string, string>>;
}): FileLine {
  const [column] =
    Object.entries(fileLine.values).find(([, value]) => value.includes('\uFFFD')) ?? [];
  if (column === undefined) return fileLine;
  return {line: fileLine.line, refusal: `column ${column}: expected UTF-8, got other bytes`};
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
  const lineByKey = new Map<string, number>();
  const result = await readEach(lines, (values, line) => {
    const refusal = checkKey(values.key, lineByKey) ?? checkParty(values);
    if (refusal !== null) return refusal;
    const party = toParty(values);
    lineByKey.set(party.id, line);
    return party;
  });
  const {taken: parties, refused, columns} = result;
  if (columns.size > 0 || refused.length === 0) requireColumns(['key'], columns, name);
  const unknown = [...columns].filter(
    (column) => !partyColumns.some((knownColumn) => knownColumn === column),
  );
  return {parties, refused, unknown};
}

/**
 * @param readLine - returns the value of a line, the reason why it is refused, or null to skip
 *   it
 */
async function readEach<Value extends object>(
  lines: AsyncIterable<FileLine>,
  readLine: (values: Values, line: number) => Value | string | null,
) {
  const results: Value[] = [];
  const refused: RefusedLine[] = [];
  const columns = new Set<string>();
  for await (const fileLine of lines) {
    if ('refusal' in fileLine) {
      refused.push(fileLine);
      continue;
    }
    const {line, values} = fileLine;
    for (const column of Object.keys(values)) columns.add(column);
    const result = readLine(values, line);
    if (typeof result === 'string') refused.push({line, refusal: result});
    else if (result !== null) results.push(result);
  }
  return {taken: results, refused, columns};
}

function requireColumns(
  required: readonly string[],
  columns: ReadonlySet<string>,
  name: string,
): void {
  const missing = required.filter((column) => !columns.has(column));
  if (columns.size === 0)
    throw new UsageError(
      `${name}: expected CSV with a header, or a JSON object on each line, got no line of values`,
    );
  if (missing.length > 0)
    throw new UsageError(
      `${name}: expected the columns ${required.join(', ')}, got ${[...columns].join(', ')}`,
    );
}

function checkKey(key = '', lineByKey: ReadonlyMap<string, number>): string | null {
  if (key === '') return 'has no key';
  if (key.length > longestKey)
    return `key: expected 1 to ${longestKey} characters, got ${key.length}`;
  const earlierLine = lineByKey.get(key);
  return earlierLine === undefined ? null : `key ${key}: line ${earlierLine} has it already`;
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
    id: key,
    name,
    phones: [phone, mobile],
    emails: [email],
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

const yesWords = ['yes', 'y', 'x', 'true', '1'];
const noWords = ['no', 'n', 'false', '0', ''];

/**
 * Reads lines with `key`, `row_id` and `link`: `yes` or nothing. Other columns are for the person.
 * @throws {UsageError} one of these columns is missing
 */
export async function readDecisions(
  lines: AsyncIterable<FileLine>,
  name: string,
): Promise<ReadDecisions> {
  const lineByKey = new Map<string, number>();
  const lineByRow = new Map<string, number>();
  const result = await readEach(
    lines,
    ({key: guardedKey = '', row_id: rowId = '', link = ''}, line) => {
      if (noWords.includes(link.toLowerCase())) return null;
      const key = unguard(guardedKey);
      const refusal = checkWord(link) ?? checkKey(key, lineByKey) ?? checkRow(rowId, lineByRow);
      if (refusal !== null) return refusal;
      lineByKey.set(key, line);
      lineByRow.set(rowId, line);
      return {line, key, rowId};
    },
  );
  const {taken: links, refused, columns} = result;
  // If there were no candidates, the file has its header alone.
  if (columns.size > 0) requireColumns(['key', 'row_id', 'link'], columns, name);
  return {links, refused};
}

function checkWord(link: string): string | null {
  if (yesWords.includes(link.toLowerCase())) return null;
  return `link: expected yes or nothing, got ${JSON.stringify(link.slice(0, 40))}`;
}

function checkRow(rowId: string, lineByRow: ReadonlyMap<string, number>): string | null {
  if (!isId(rowId)) return `row_id: expected a number, got ${JSON.stringify(rowId.slice(0, 40))}`;
  const earlierLine = lineByRow.get(rowId);
  return earlierLine === undefined ? null : `row ${rowId}: line ${earlierLine} links it already`;
}

const formulaPattern = new RegExp(formulaStart);

/** A cell of CSV that no spreadsheet runs as a formula: `unguard` removes the apostrophe. */
export function guardCell(text: string): string {
  const guarded = formulaPattern.test(text) ? `'${text}` : text;
  return /[",;\n\r\t|]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function unguard(text: string): string {
  return text.startsWith("'") && formulaPattern.test(text.slice(1)) ? text.slice(1) : text;
}
