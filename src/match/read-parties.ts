// The file of an outside system: its customers or employees, and what a person has decided about
// those that may be several of ours.

import {UsageError} from '../core/errors.ts';
import {formulaStart, isId} from '../core/text.ts';
import type {Party} from './party.ts';
import type {FileLine, RefusedLine} from './read-lines.ts';

/** Columns of a file of parties; `key` alone must be there. */
export const partyColumns = [
  ...['key', 'name', 'phone', 'mobile', 'email'],
  ...['street', 'city', 'zip'],
] as const;

export interface ReadParties {
  readonly parties: readonly Party[];
  readonly refused: readonly RefusedLine[];
  /** Columns that nobody reads. */
  readonly unknown: readonly string[];
}

/** As sync.set_link takes it. */
const longestKey = 200;

/**
 * @param name - of the file, for a person
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

/** @param take - what a line is, why it is refused, or null: it is passed over */
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
export interface DecidedLink {
  readonly line: number;
  readonly key: string;
  readonly rowId: string;
}

export interface ReadDecisions {
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
  // Where there were no candidates, the file has its header alone.
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

/** A cell of CSV that no spreadsheet runs: `unguard` takes the apostrophe off. */
export function guardCell(text: string): string {
  const guarded = formula.test(text) ? `'${text}` : text;
  return /[",;\n\r\t|]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function unguard(text: string): string {
  return text.startsWith("'") && formula.test(text.slice(1)) ? text.slice(1) : text;
}
