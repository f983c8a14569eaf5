// The search for records by a number, a name, a phone number, an e-mail address or a key. The
// fields that the service was ever seen to send, with their recent changes.

import type {Account} from '../accounts/accounts.ts';
import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  type FoundRow,
  findNearNumbers,
  findRows,
  findSimilarRows,
  type Hit,
  listLatestRows,
} from '../rows/find-rows.ts';
import {
  countFields,
  type Field,
  type FieldEvent,
  listFieldEvents,
  listFields,
  readExamples,
} from '../star/fields.ts';
import {allStreams, allTables, isPersonal} from '../streams/all.ts';
import type {StreamName} from '../streams/stream.ts';
import {listFieldNames} from './record-versions.ts';

/** A record, as a list has it. */
export interface RecordHit extends Omit<FoundRow, 'table' | 'accountId'> {
  readonly stream: StreamName;
  readonly account: string;
  /** The property that matched; null if the record was not searched for. */
  readonly by: Hit['by'] | null;
}

/**
 * The records that match the typed text; if nothing was typed, the records that changed recently.
 */
export interface SearchStory {
  /** Null if nothing was typed. */
  readonly sought: string | null;
  readonly hits: readonly RecordHit[];
  readonly hasMore: boolean;
  /** Records nearest to the typed text, if there is no hit. */
  readonly nearest: readonly RecordHit[];
  readonly latest: readonly RecordHit[];
  /** False if personal data is hidden: then the search does not use it either. */
  readonly isByWords: boolean;
}

export const mostHits = 50;
const latestCount = 25;
const nearestCount = 8;
/** Characters of the typed text that count. */
const longestQuery = 200;
/** Fewer digits are the end of too many phone numbers; more digits include a country code. */
const phoneDigits = {least: 4, most: 10};

const searchedTables = allStreams.map(({table}) => table);

/**
 * Finds records of some accounts, the exact number first.
 * @param typed - null: nothing was typed
 */
export async function searchRecords(
  db: Queryable,
  accounts: readonly Account[],
  typed: string | null,
): Promise<SearchStory> {
  const accountIds = accounts.map(({accountId}) => accountId);
  const toHit = (row: FoundRow | Hit) => toRecordHit(row, accounts);
  const sought = typed?.trim().slice(0, longestQuery) ?? '';
  const emptyStory = {hits: [], hasMore: false, nearest: [], latest: [], isByWords: true};
  if (accountIds.length === 0) return {...emptyStory, sought: sought === '' ? null : sought};
  if (sought === '') {
    const latest = await listLatestRows(db, searchedTables, {accountIds, limit: latestCount});
    return {...emptyStory, sought: null, latest: latest.map(toHit)};
  }
  const hits = await findRows(db, searchedTables, {
    accountIds,
    ...readSought(sought),
    limit: mostHits + 1,
  });
  const nearestRows = hits.length === 0 ? await findNearest(db, accountIds, sought) : [];
  return {
    ...emptyStory,
    sought,
    hits: hits.slice(0, mostHits).map(toHit),
    hasMore: hits.length > mostHits,
    nearest: nearestRows.map(toHit),
  };
}

/**
 * The story for a viewer who may not see personal data. It has no hits by words: a viewer who found
 * a record by a name would know the name.
 */
export function hideSearch(story: SearchStory, hidden: string): SearchStory {
  const hide = (records: readonly RecordHit[]) =>
    records.map((record) => ({...record, name: record.name === null ? null : hidden}));
  const isNumber = story.sought !== null && readSought(story.sought).number !== null;
  return {
    ...story,
    hits: hide(story.hits.filter(({by}) => by !== 'words')),
    hasMore: false,
    nearest: isNumber ? hide(story.nearest) : [],
    latest: hide(story.latest),
    isByWords: false,
  };
}

function readSought(sought: string) {
  const number = /^#?([1-9]\d{0,17})$/.exec(sought)?.[1] ?? null;
  const digits = /^[\d\s()+./-]+$/.test(sought) ? sought.replaceAll(/\D/g, '') : '';
  const phone = digits.length < phoneDigits.least ? null : digits.slice(-phoneDigits.most);
  return {number, externalKey: sought, words: sought, phone};
}

async function findNearest(
  db: Queryable,
  accountIds: readonly string[],
  sought: string,
): Promise<FoundRow[]> {
  const {number} = readSought(sought);
  if (number === null)
    return await findSimilarRows(db, searchedTables, {
      accountIds,
      words: sought,
      limit: nearestCount,
    });
  return await findNearNumbers(db, searchedTables, {accountIds, number, limit: 1});
}

/** Records of a stream with the numbers next to one that does not exist. */
export async function findNeighbours(
  db: Queryable,
  {accountIds, stream, number}: {accountIds: readonly string[]; stream: StreamName; number: string},
): Promise<readonly Pick<FoundRow, 'accountId' | 'number'>[]> {
  const streamTables = allStreams.filter(({name}) => name === stream).map(({table}) => table);
  return await findNearNumbers(db, streamTables, {accountIds, number, limit: 3});
}

function toRecordHit(
  {table, accountId, ...row}: FoundRow & {readonly by?: Hit['by']},
  accounts: readonly Account[],
): RecordHit {
  const stream = allStreams.find((candidate) => candidate.table.name === table);
  if (stream === undefined) throw new TypeError(`${table}: no stream has this table`);
  const account = accounts.find((candidate) => candidate.accountId === accountId);
  return {by: null, ...row, stream: stream.name, account: account?.name ?? ''};
}

export interface FieldHit extends Omit<Field, 'accountId'> {
  readonly account: string;
  /** Up to three recent values if one field is requested; none of a secret, which is not stored. */
  readonly examples: readonly string[];
}

export interface FieldsStory {
  readonly tables: readonly {
    readonly table: string;
    readonly count: number;
    readonly promoted: number;
  }[];
  readonly table: string;
  /** The one field that is shown; null: all fields of the table. */
  readonly field: string | null;
  readonly fields: readonly FieldHit[];
  readonly hasMore: boolean;
  /** Events of the last `days` days: of every table, or of the field that is shown. */
  readonly events: readonly (Omit<FieldEvent, 'accountId'> & {readonly account: string})[];
  readonly days: number;
  /** A suggestion if there is no such table or field, ` (did you mean jobs?)`; otherwise null. */
  readonly unknown: string | null;
}

const days = 90;
const limits = {fields: 250, events: 100};

/**
 * Reads the fields of a table, or one field with examples.
 * @param filter.table - null: jobs, or else the first that has any
 */
export async function readFields(
  db: Queryable,
  accounts: readonly Account[],
  filter: {readonly table: string | null; readonly field: string | null},
): Promise<FieldsStory> {
  const accountIds = accounts.map(({accountId}) => accountId);
  const tables = await countFields(db, accountIds);
  const tableNames = tables.map((entry) => entry.table);
  const table =
    filter.table ?? tableNames.find((name) => name === 'jobs') ?? tableNames[0] ?? 'jobs';
  const {field} = filter;
  const foundFields = await listFields(db, {accountIds, table, field, limit: limits.fields + 1});
  const events = await listFieldEvents(db, {
    accountIds,
    days,
    field,
    limit: limits.events,
    table: field === null ? null : table,
  });
  const nameAccount = (accountId: string) =>
    accounts.find((account) => account.accountId === accountId)?.name ?? '';
  const fields = foundFields.slice(0, limits.fields).map(async ({accountId, ...found}) => ({
    ...found,
    account: nameAccount(accountId),
    examples: field === null ? [] : await readExamplesOf(db, {...found, accountId}),
  }));
  return {
    tables,
    table,
    field,
    days,
    fields: await Promise.all(fields),
    hasMore: foundFields.length > limits.fields,
    events: events.map(({accountId, ...event}) => ({...event, account: nameAccount(accountId)})),
    unknown:
      foundFields.length > 0 || (filter.table ?? field) === null
        ? null
        : await suggest(db, {accountIds, tables: tableNames, table, field}),
  };
}

/** Suggests a table if there is none of that name, or else a field of the table. */
async function suggest(
  db: Queryable,
  missing: {
    readonly accountIds: readonly string[];
    readonly tables: readonly string[];
    readonly table: string;
    readonly field: string | null;
  },
): Promise<string> {
  const {accountIds, tables, table, field} = missing;
  if (field === null || !tables.includes(table)) return nearest(table, tables);
  return nearest(field, await listFieldNames(db, {accountIds, tableName: table}));
}

/** The story for a viewer who may not see personal data. */
export function hideFields(story: FieldsStory, hidden: string): FieldsStory {
  return {
    ...story,
    fields: story.fields.map((field) =>
      isPersonal(field.tableName, field.columnName ?? field.field)
        ? {...field, examples: field.examples.map(() => hidden)}
        : field,
    ),
  };
}

async function readExamplesOf(
  db: Queryable,
  {accountId, tableName, field, types, columnName}: Field,
) {
  const table = allTables.find(({name}) => name === tableName);
  if (table === undefined || types.includes('secret')) return [];
  return await readExamples(db, table, {accountId, field, column: columnName});
}
