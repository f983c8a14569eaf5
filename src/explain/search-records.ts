// What a person finds by typing a number, a name, a phone number, an e-mail address or a key.

import type {Account} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  type FoundRow,
  findNearNumbers,
  findRows,
  findSimilarRows,
  type Hit,
  listLatestRows,
} from '../rows/find-rows.ts';
import {allStreams} from '../streams/all.ts';
import type {StreamName} from '../streams/stream.ts';

/** A record, as a list has it. */
export interface ToldRecord extends Omit<FoundRow, 'table' | 'accountId'> {
  readonly stream: StreamName;
  readonly account: string;
  /** What it was found by; null where it was not looked for. */
  readonly by: Hit['by'] | null;
}

/** What was found of what was typed, or what changed of late where nothing was. */
export interface SearchStory {
  /** Null where nothing was typed. */
  readonly sought: string | null;
  readonly hits: readonly ToldRecord[];
  readonly hasMore: boolean;
  /** Records next to what was typed, where there is no hit. */
  readonly nearest: readonly ToldRecord[];
  readonly latest: readonly ToldRecord[];
  /** False where personal data is hidden: then nothing is found by it either. */
  readonly isByWords: boolean;
}

export const mostHits = 50;
const latestCount = 25;
const nearestCount = 8;
/** Characters of what is typed that count. */
const longest = 200;
/** Fewer digits are the end of too many phone numbers, and more begin with a country's code. */
const phoneDigits = {least: 4, most: 10};

const tables = allStreams.map(({table}) => table);

/**
 * Finds records of some accounts, the exact number first. @param typed - null: nothing was typed
 */
export async function searchRecords(
  db: Queryable,
  accounts: readonly Account[],
  typed: string | null,
): Promise<SearchStory> {
  const accountIds = accounts.map(({accountId}) => accountId);
  const tell = (row: FoundRow | Hit) => tellRecord(row, accounts);
  const sought = typed?.trim().slice(0, longest) ?? '';
  const none = {hits: [], hasMore: false, nearest: [], latest: [], isByWords: true};
  if (accountIds.length === 0) return {...none, sought: sought === '' ? null : sought};
  if (sought === '') {
    const latest = await listLatestRows(db, tables, {accountIds, limit: latestCount});
    return {...none, sought: null, latest: latest.map(tell)};
  }
  const hits = await findRows(db, tables, {accountIds, ...readSought(sought), limit: mostHits + 1});
  const nearest = hits.length === 0 ? await findNearest(db, accountIds, sought) : [];
  return {
    ...none,
    sought,
    hits: hits.slice(0, mostHits).map(tell),
    hasMore: hits.length > mostHits,
    nearest: nearest.map(tell),
  };
}

/**
 * The story for somebody who is not to see personal data: who could find a record by a name would
 * know it.
 */
export function hideSearch(story: SearchStory, hidden: string): SearchStory {
  const hide = (records: readonly ToldRecord[]) =>
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
    return await findSimilarRows(db, tables, {accountIds, words: sought, limit: nearestCount});
  return await findNearNumbers(db, tables, {accountIds, number, limit: 1});
}

/** Records of a stream with the numbers next to one that is not there. */
export async function findNeighbours(
  db: Queryable,
  {accountIds, stream, number}: {accountIds: readonly string[]; stream: StreamName; number: string},
): Promise<readonly Pick<FoundRow, 'accountId' | 'number'>[]> {
  const own = allStreams.filter(({name}) => name === stream).map(({table}) => table);
  return await findNearNumbers(db, own, {accountIds, number, limit: 3});
}

function tellRecord(
  {table, accountId, ...row}: FoundRow & {readonly by?: Hit['by']},
  accounts: readonly Account[],
): ToldRecord {
  const stream = allStreams.find((candidate) => candidate.table.name === table);
  if (stream === undefined) throw new TypeError(`${table}: no stream has this table`);
  const account = accounts.find((candidate) => candidate.accountId === accountId);
  return {by: null, ...row, stream: stream.name, account: account?.name ?? ''};
}
