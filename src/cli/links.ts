// The keys by which outside systems know records. The verbs `links` list and set them. The verb
// `match` finds which customers or employees of an outside system are which of ours. It prints
// them, and on request links them in one transaction, which can be undone.

import {createReadStream} from 'node:fs';
import {open, rm} from 'node:fs/promises';
import {createInterface} from 'node:readline';
import {type CountryCode, isSupportedCountry} from 'libphonenumber-js/min';
import pg from 'pg';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatAgo, formatNumber} from '../core/format.ts';
import {checkShortName, defaultSystem, nearest} from '../core/names.ts';
import {printErr} from '../core/text.ts';
import {countDifferences, type Matches, type Pair} from '../match/match.ts';
import type {PlainParty} from '../match/party.ts';
import {
  guardCell,
  partyColumns,
  type RefusedLine,
  readDecisions,
  readFileLines,
  readParties,
} from '../match/party-file.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type LinkedRow, listLinks, setLink, undoLinks, writeLinks} from '../rows/links.ts';
import {
  countBuckets,
  joinFilled,
  linkOf,
  type MatchColumns,
  type Matching,
  type MatchScope,
  matchColumns,
  matchRows,
  showAddresses,
} from '../rows/matching.ts';
import {allTables} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, print} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

interface MatchOptions {
  readonly account?: string;
  readonly system?: string;
  readonly from?: string;
  readonly decided?: string;
  readonly undo?: string;
  readonly country: string;
  readonly review?: string;
  readonly apply: boolean;
  readonly json: boolean;
}

/** At most this many refused lines of a file are printed; the rest are counted. */
const mostRefusals = 20;
const mostSamples = 3;

/**
 * Matches a file with the rows of a table, carries out a person's decisions, or undoes a batch of
 * links.
 * @returns the exit code: 1 if lines of the file were refused or left out
 * @throws {UsageError} options that do not go together; no such table, account, country or batch; a
 *   file that cannot be read
 */
export async function match(config: Config, table: string, options: MatchOptions): Promise<number> {
  const columns = checkOptions(table, options);
  const {system = defaultSystem} = options;
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {accountId, name} = await chooseAccount(warehouse, options.account);
    const place = {accountId, table, system, account: name, columns};
    if (options.undo !== undefined) return await undoBatch(warehouse, place, options.undo, options);
    if (options.decided !== undefined)
      return await applyDecisions(warehouse, place, options.decided, options);
    return await compareFile(warehouse, place, options.from ?? '-', options);
  });
}

interface MatchPlace extends MatchScope {
  readonly account: string;
}

function checkOptions(table: string, options: MatchOptions): MatchColumns {
  const {from, decided, undo: batch, review, apply, country, system = defaultSystem} = options;
  const typedOptions = Object.entries({'--from': from, '--decided': decided, '--undo': batch})
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  if (typedOptions.length !== 1)
    throw new UsageError(
      `match: expected one of --from FILE, --decided FILE, --undo BATCH, got ${
        typedOptions.length === 0 ? 'none' : typedOptions.join(' and ')
      }`,
    );
  if (review !== undefined && from === undefined)
    throw new UsageError('match: --review: expected --from FILE beside it');
  if (batch !== undefined && apply)
    throw new UsageError('match: expected --apply or --undo, got both');
  checkShortName(system, 'match: --system');
  if (!isSupportedCountry(country))
    throw new UsageError(`match: --country: expected two letters such as US, got "${country}"`);
  const entry = Object.entries(matchColumns).find(([name]) => name === table);
  if (entry !== undefined) return entry[1];
  const names = Object.keys(matchColumns);
  const suggestion = nearest(table, names);
  throw new UsageError(
    `match: no table "${table}" that can be matched${suggestion}; there are ${names.join(', ')}`,
  );
}

async function compareFile(
  {pool}: Warehouse,
  place: MatchPlace,
  file: string,
  {apply, review, country, json}: MatchOptions,
): Promise<number> {
  const name = nameOf(file);
  const {parties, refused, unknown} = await readParties(readFileLines(linesOf(file)), name);
  printRefused(name, refused);
  for (const column of unknown)
    printErr(`${name}: column ${column} is not read${nearest(column, partyColumns)}\n`);
  const matching = await matchRows(pool, place, {parties, country: toCountry(country)});
  const {matches, rows} = matching;
  if (review !== undefined) await writeReview(review, matches, rows, place.columns);
  const links = matches.sure.map(linkOf);
  const written = apply ? await inTransaction(pool, (db) => writeLinks(db, place, links)) : null;
  const result = {
    ...matching,
    refused,
    written,
    review: review ?? null,
    file: name,
  };
  print(json, {json: toJson(result, unknown), text: describeMatch(place, result)});
  return refused.length > 0 ? 1 : 0;
}

interface MatchResult extends Matching {
  readonly refused: readonly RefusedLine[];
  readonly written: {readonly batch: string | null; readonly rowIds: readonly string[]} | null;
  readonly review: string | null;
  readonly file: string;
}

function toCountry(country: string): CountryCode {
  return isSupportedCountry(country) ? country : 'US';
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}

/** @throws {UsageError} during the read: the file is missing, or cannot be read */
async function* linesOf(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  try {
    yield* createInterface({input, crlfDelay: Number.POSITIVE_INFINITY});
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`${nameOf(file)}: expected a file that can be read, got ${reason}`, {
      cause,
    });
  }
}

function printRefused(name: string, refused: readonly RefusedLine[]): void {
  for (const {line, refusal} of refused.slice(0, mostRefusals))
    printErr(`${name}, line ${line}: ${refusal}; it is left out\n`);
  const rest = refused.length - mostRefusals;
  if (rest > 0)
    printErr(`${name}: ${formatNumber(rest)} more lines are left out; --json lists all\n`);
}

const reviewColumns = [
  ...['link', 'key', 'row_id', 'number', 'their name', 'our name', 'their phone', 'our phone'],
  ...['their email', 'our email', 'their address', 'our address'],
];

/**
 * Writes a line for each pair that a person decides. Only this user may read the file: it has
 * personal data.
 */
async function writeReview(
  file: string,
  {several}: Matches,
  rows: ReadonlyMap<string, LinkedRow>,
  {number}: MatchColumns,
): Promise<void> {
  const lines = several.flatMap(({pairs}) =>
    pairs.map(({ours, theirs}) => [
      ...['', theirs.party.id, ours.party.id, rows.get(ours.party.id)?.values[number] ?? ''],
      ...[theirs.party.name, ours.party.name],
      ...[joinFilled(theirs.party.phones), joinFilled(ours.party.phones)],
      ...[joinFilled(theirs.party.emails), joinFilled(ours.party.emails)],
      ...[showAddresses(theirs.party), showAddresses(ours.party)],
    ]),
  );
  const text = [reviewColumns, ...lines].map((cells) => cells.map(guardCell).join(','));
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(`\uFEFF${text.join('\r\n')}\r\n`);
    } catch (error) {
      await rm(file, {force: true});
      throw error;
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(
      `match: --review: expected a file that is not there yet and can be written, got ${reason}`,
      {cause},
    );
  }
}

function toJson(
  {matches, refused, written, linked, review}: MatchResult,
  unknown: readonly string[],
) {
  const {sure, several, onlyHere, onlyThere} = matches;
  const showPair = ({ours, theirs, likeness}: Pair) => ({
    key: theirs.party.id,
    rowId: ours.party.id,
    ...likeness,
    score: Math.round(likeness.score * 10) / 10,
  });
  return {
    counts: countBuckets(matches),
    linked,
    differences: countDifferences(sure),
    sure: sure.map(showPair),
    several: several.map(({theirs, pairs}) => ({
      key: theirs.party.id,
      candidates: pairs.map(showPair),
    })),
    onlyHere: onlyHere.map(({party}) => party.id),
    onlyThere: onlyThere.map(({party}) => party.id),
    unknownColumns: unknown,
    refused,
    review,
    written: written === null ? null : {batch: written.batch, count: written.rowIds.length},
  };
}

function describeMatch(
  {table, account, system, columns}: MatchPlace,
  {matches, rows, linked, written, review, file}: MatchResult,
): string {
  const {sure, several, onlyHere, onlyThere} = countBuckets(matches);
  const nameOurs = ({party}: PlainParty) => {
    const number = rows.get(party.id)?.values[columns.number] ?? `row ${party.id}`;
    return `${number} "${party.name}"`;
  };
  const nameTheirs = ({party}: PlainParty) => `${party.id} "${party.name}"`;
  const samples = [
    ...matches.sure
      .slice(0, mostSamples)
      .map((pair) => `sure: ${nameTheirs(pair.theirs)} is ${nameOurs(pair.ours)}`),
    ...matches.several.slice(0, mostSamples).map(({theirs, pairs}) => {
      const candidates = pairs.map(({ours}) => nameOurs(ours)).join(', ');
      return `several: ${nameTheirs(theirs)} may be ${candidates}`;
    }),
  ];
  const differences = countDifferences(matches.sure).map(
    ({field, equal, differ, onlyHere: here, onlyThere: there}) => [
      ...[field, equal, differ, here, there],
    ],
  );
  const buckets: readonly (readonly [string, number])[] = [
    ['sure', sure],
    ['several candidates', several],
    ['only here', onlyHere],
    ['only there', onlyThere],
    ['linked already, of the file', linked.inFile],
    ['linked already, here', linked.here],
  ];
  return [
    `${table} of account ${account} and ${file}, system ${system}`,
    fitTable(['bucket', 'count'], buckets),
    ...(sure === 0
      ? []
      : [
          'The sure pairs, field by field:',
          fitTable(['field', 'equal', 'differ', 'only here', 'only there'], differences),
        ]),
    ...samples,
    ...(review === null ? [] : [describeReview(review, several)]),
    describeWritten(written, sure),
  ].join('\n');
}

function describeReview(file: string, several: number): string {
  if (several === 0) return `${file} has no line: no party has several candidates`;
  return `${file} has the candidates: write yes into the column link`;
}

function describeWritten(written: MatchResult['written'], sure: number): string {
  if (written === null)
    return sure === 0
      ? 'Nothing was written.'
      : 'Nothing was written; --apply links the sure pairs.';
  const {batch, rowIds} = written;
  if (batch === null) return 'Nothing was left to link.';
  const left = sure - rowIds.length;
  const rest = left === 0 ? '' : `; ${formatNumber(left)} were linked by others meanwhile`;
  const count = formatNumber(rowIds.length);
  return `${count} links were written as batch ${batch}${rest}; --undo ${batch} removes them`;
}

async function applyDecisions(
  {pool}: Warehouse,
  place: MatchPlace,
  file: string,
  {apply, json}: MatchOptions,
): Promise<number> {
  const name = nameOf(file);
  const {links, refused} = await readDecisions(readFileLines(linesOf(file)), name);
  printRefused(name, refused);
  const written = apply ? await inTransaction(pool, (db) => writeLinks(db, place, links)) : null;
  const writtenIds = new Set(written?.rowIds);
  const left = written === null ? [] : links.filter(({rowId}) => !writtenIds.has(rowId));
  for (const {line, key, rowId} of left.slice(0, mostRefusals))
    printErr(
      `${name}, line ${line}: row ${rowId} or key ${key} is linked already, or the account ` +
        'has no such row; it is left out\n',
    );
  const countText = `${formatNumber(links.length)} decided links of ${name}`;
  print(json, {
    json: {
      decided: links.length,
      refused,
      left,
      written: written === null ? null : {batch: written.batch, count: written.rowIds.length},
    },
    text:
      written === null
        ? `${countText}. Nothing was written; --apply links them.`
        : `${countText}. ${describeWritten(written, written.rowIds.length)}`,
  });
  return refused.length + left.length > 0 ? 1 : 0;
}

async function undoBatch(
  {pool}: Warehouse,
  place: MatchPlace,
  batch: string,
  {json}: MatchOptions,
): Promise<number> {
  const result = await inTransaction(pool, (db) => undoLinks(db, place, batch));
  const {system, removed, left} = result;
  const rest = left === 0 ? '' : `; ${formatNumber(left)} were set or removed since, and are left`;
  const count = formatNumber(removed);
  print(json, {
    json: {batch, ...result},
    text: `${count} links of batch ${batch} in system ${system} were removed${rest}`,
  });
  return 0;
}

interface LinkOptions {
  readonly system?: string;
  readonly account?: string;
  readonly json: boolean;
}

/** A record by its number. */
interface RecordName {
  readonly table: string;
  readonly number: string;
}

/**
 * Lists the keys that a system has for the records of a table.
 * @returns the exit code
 * @throws {UsageError} no such table or account
 */
export async function linksList(
  config: Config,
  table: string,
  options: LinkOptions & {readonly key?: string; readonly limit: number},
): Promise<number> {
  const {key = null, limit, json} = options;
  const scope = readScope('links list', table, options);
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const {accountId, name: account} = await chooseAccount({pool}, options.account);
    const links = await listLinks(pool, {...scope, accountId, key, limit});
    const rows = links.map(({number, rowId, key: storedKey, since, linkedBy}) => [
      number ?? `row ${rowId}`,
      storedKey,
      since === null ? '' : formatAgo(since),
      linkedBy ?? '',
    ]);
    const emptyMessage = `account ${account}: system ${scope.system} has no key of ${table}`;
    const columnTitles = [table, 'key', 'since', 'set by'];
    print(json, {
      json: {links},
      text: rows.length === 0 ? emptyMessage : fitTable(columnTitles, rows),
    });
    return 0;
  });
}

/**
 * Sets the key of a record, in place of its previous one; null removes it.
 * @returns the exit code
 * @throws {UsageError} no such table, account or record; another record has the key
 */
export async function linksSet(
  config: Config,
  {table, number}: RecordName,
  {key, ...options}: LinkOptions & {readonly key: string | null},
): Promise<number> {
  const verb = key === null ? 'links remove' : 'links set';
  const {system, numberColumn} = readScope(verb, table, options);
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, options.account);
    const record = {table, number, numberColumn, accountId: account.accountId};
    const rowId = await findRow(pool, record);
    if (rowId === null)
      throw new UsageError(`${verb}: account ${account.name} has no record ${number} of ${table}`);
    const isNew = await setLink(pool, {table, rowId, system}, key).catch((error: unknown) => {
      throw explainRefusal(error, verb);
    });
    const timing = isNew ? 'now' : 'already';
    const keyText = key === null ? 'no key' : `key ${key}`;
    const text = `${table} ${number} ${timing} has ${keyText} in system ${system}`;
    print(options.json, {json: {table, number, rowId, system, key, isNew}, text});
    return 0;
  });
}

function readScope(
  verb: string,
  name: string,
  {system = defaultSystem}: LinkOptions,
): {readonly table: string; readonly numberColumn: string; readonly system: string} {
  checkShortName(system, `${verb}: --system`);
  const tables = allTables.filter(({key}) => key.length === 1);
  const [numberColumn] = tables.find((table) => table.name === name)?.key ?? [];
  if (numberColumn !== undefined) return {table: name, numberColumn, system};
  const names = tables.map((table) => table.name);
  const suggestion = nearest(name, names);
  throw new UsageError(
    `${verb}: no table "${name}" with a number${suggestion}; there are ${names.join(', ')}`,
  );
}

async function findRow(
  db: Queryable,
  {table, number, numberColumn, accountId}: RecordName & {numberColumn: string; accountId: string},
): Promise<string | null> {
  const {rows} = await db.query<{rowId: string}>(
    `SELECT row_id AS "rowId" FROM warehouse.${pg.escapeIdentifier(table)}
      WHERE account_id = $1 AND ${pg.escapeIdentifier(numberColumn)} = $2`,
    [accountId, number],
  );
  return rows[0]?.rowId ?? null;
}

/** Turns a refusal of the SQL functions into a usage error with their message. */
function explainRefusal(error: unknown, verb: string): unknown {
  if (!(error instanceof pg.DatabaseError) || !/^(?:22|23)/.test(error.code ?? '')) return error;
  const nextStep = error.code === '23505' ? '; fieldmirror links remove removes it there' : '';
  return new UsageError(`${verb}: ${error.message}${nextStep}`, {cause: error});
}
