// Lines of a file as values by column: CSV, however its columns are separated, or NDJSON. A line
// that cannot be read costs itself alone.

/** A line of a file, counted from 1: its values by column, or why it cannot be read. */
export type FileLine =
  | {readonly line: number; readonly values: Readonly<Record<string, string>>}
  | RefusedLine;

export interface RefusedLine {
  readonly line: number;
  readonly refusal: string;
}

/** A cell over several lines has no more: a quote that is not closed costs one line, not all. */
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
 * Yields the lines of a file but for its header and empty ones.
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
 * The cells of a record, which may go on over further lines; null where it has no end, or a quote
 * in the middle of a cell: then it took the beginning of another cell for its end.
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
  /** `open`: its last quote is not closed; `broken`: a quoted cell has something behind it. */
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

/** What is no UTF-8 arrives as U+FFFD. */
function checkText(read: {
  readonly line: number;
  readonly values: Readonly<Record<string, string>>;
}): FileLine {
  const [column] = Object.entries(read.values).find(([, value]) => value.includes('\uFFFD')) ?? [];
  if (column === undefined) return read;
  return {line: read.line, refusal: `column ${column}: expected UTF-8, got other bytes`};
}
