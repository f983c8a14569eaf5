// The feed of what changed: how its entries are read from sync.feed, for the HTTP API, the terminal
// and subscribers. A watch wakes the readers that wait, and gives positions to new entries before
// they read.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import {NoticeWatch, type WaitOn} from '../postgres/listen.ts';
import {allTables, isPersonal} from '../streams/all.ts';
import type {EntryOperation} from './terms.ts';

/** One entry of the feed. Numbers are text, instants ISO 8601 in UTC. */
export interface FeedEntry {
  /** The place behind this entry, from which the feed continues. */
  readonly cursor: string;
  /** The same for ever, however often the entry is read. */
  readonly id: string;
  readonly account: string;
  readonly table: string;
  readonly row_id: string | null;
  readonly number: string | null;
  readonly external_key: string | null;
  readonly operation: EntryOperation;
  /**
   * The changed fields before and after; of a created row only after, of a removed one only before.
   */
  readonly before: FieldValues | null;
  readonly after: FieldValues | null;
  readonly at: string;
  readonly written_by: string | null;
  readonly application: string | null;
  readonly change_id: string | null;
  /** Whether the reader itself wrote it. */
  readonly own: boolean;
  /** Whether the reader has itself set one of its fields since. */
  readonly overwritten: boolean;
  /** Of a removed row: the number of the record into which its record was merged. */
  readonly merged_into: string | null;
}

type FieldValues = Readonly<Record<string, unknown>>;

export interface FeedQuery {
  /** A cursor; null: the oldest entry kept; `end`: no entries, only the current cursor. */
  readonly after: string | null;
  readonly limit: number;
  /** Null: all tables. */
  readonly tables: readonly string[] | null;
  /** A row that changed in none of these columns is left out; null: no row is. */
  readonly columns: readonly string[] | null;
  /** Whether the outcomes of the readers' changes are returned, too. */
  readonly changes: boolean;
  /** Null: all accounts. */
  readonly accountId: string | null;
  /** Who reads: logins, or keys of the HTTP API as `http: NAME`; null: the login. */
  readonly readers: readonly string[] | null;
  /** The outside system whose keys are returned; null: that of the login. */
  readonly system: string | null;
}

/** The columns that a reader of some tables may request. @param tables - null: all tables */
export function listFeedColumns(tables: readonly string[] | null): string[] {
  const readTables = allTables.filter(({name}) => tables === null || tables.includes(name));
  const names = readTables.flatMap(({columns}) => columns.map(({name}) => name));
  return [...new Set([...names, 'external_key', 'extra'])];
}

/** Entries, and the cursor to continue from. */
export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  readonly cursor: string;
  /** Whether there may be more behind the cursor. */
  readonly hasMore: boolean;
}

/** A cursor that the feed cannot be read from: it is no cursor, or its place is not there. */
export class CursorError extends Error {
  override readonly name = 'CursorError';
  /** Whether the reader has to begin again: its cursor is too old, or of another warehouse. */
  readonly isGone: boolean;

  constructor(
    message: string,
    {isGone, cause}: {readonly isGone: boolean; readonly cause: unknown},
  ) {
    super(message, {cause});
    this.isGone = isGone;
  }
}

const feedColumns = `entry.cursor, entry.entry_id AS id, entry.account,
  entry.table_name AS "table", entry.row_id, entry.number, entry.external_key,
  entry.operation, entry.before, entry.after, entry.at, entry.written_by, entry.application,
  entry.change_id, entry.own, entry.overwritten, entry.merged_into`;

/**
 * Reads the entries behind a cursor that have a position. The end of the feed is read in the same
 * statement: no entry is between the returned entries and the cursor to continue from.
 * @throws {CursorError}
 */
export async function readFeed(db: Queryable, query: FeedQuery): Promise<FeedPage> {
  const {after, limit, tables, columns, changes, accountId, readers, system} = query;
  const isEnd = after === 'end';
  const values = [
    ...[isEnd ? null : after, isEnd ? 0 : limit],
    ...[tables, accountId, readers, system, columns, changes],
  ];
  const {rows} = await db
    .query<FeedEntry & {end: string}>(
      `SELECT sync.feed_end() AS end, ${feedColumns} FROM (SELECT) AS one
         LEFT JOIN sync.feed($1, $2, $3, $4, $5, $6, $7, $8) AS entry ON true`,
      values,
    )
    .catch((error: unknown) => {
      throw toCursorError(error);
    });
  const foundEntries = rows
    .filter(({cursor}) => cursor !== null)
    .map(({end: _, ...entry}) => entry);
  const lastEntry = foundEntries.at(-1);
  const end = rows[0]?.end ?? '';
  const isCut = columns !== null && lastEntry !== undefined && mayBeCut(after, lastEntry);
  const isLastSkipped = isCut && !isRelevant(lastEntry, columns);
  const hasMore = foundEntries.length >= limit || isCut;
  const entries = isLastSkipped ? foundEntries.slice(0, -1) : foundEntries;
  return {entries, cursor: hasMore ? (lastEntry?.cursor ?? end) : end, hasMore};
}

/** For a reader of some columns, sync.feed_after reads at least this many entries at once. */
const readAtOnce = 20_000;

/**
 * Whether sync.feed_after may have stopped at an entry, because it had read very many of which few
 * matched. It returns the entry at which it stops, whether that matches or not.
 */
function mayBeCut(after: string | null, {cursor}: FeedEntry): boolean {
  return after === null || readPosition(cursor) - readPosition(after) >= readAtOnce;
}

/** Whether an entry is relevant to a reader of some columns. */
function isRelevant({operation, before, after}: FeedEntry, columns: readonly string[]): boolean {
  const changed = Object.keys({...before, ...after});
  return (
    operation !== 'changed' ||
    changed.length === 0 ||
    columns.some((column) => changed.includes(column))
  );
}

function toCursorError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const isGone = error.code === 'FM410';
  return isGone || error.code === '22023'
    ? new CursorError(error.message, {isGone, cause: error})
    : error;
}

/** The owner of a place in the feed. */
interface PlaceOwner {
  readonly accountId: string;
  /** A key of the HTTP API, as `http: NAME`. */
  readonly reader: string;
}

/** How far a reader has followed the feed; all null if it has stored nothing. */
interface FeedPlace {
  readonly cursor: string | null;
  readonly state: Record<string, unknown> | null;
  /** ISO 8601 in UTC. */
  readonly acked_at: string | null;
}

/** The place that a reader has stored. */
export async function readFeedPlace(
  db: Queryable,
  {accountId, reader}: PlaceOwner,
): Promise<FeedPlace> {
  const {rows} = await db.query<FeedPlace>(
    'SELECT cursor, state, acked_at FROM sync.feed_place($1, $2)',
    [accountId, reader],
  );
  return rows[0] ?? {cursor: null, state: null, acked_at: null};
}

/**
 * Stores the place of a reader, in the caller's transaction.
 * @param place.state - null: it stays
 * @throws SQLSTATE FM410 or 22023: the feed cannot be read from the cursor, or the state is too
 *   large
 */
export async function ackFeed(
  db: Queryable,
  {accountId, reader, cursor, state}: PlaceOwner & Omit<FeedPlace, 'acked_at'>,
): Promise<void> {
  await db.query('SELECT sync.feed_ack($1, $2, $3, $4)', [cursor, state, accountId, reader]);
}

/** The Postgres channel for notices of new entries; sync.tell_feed uses its name. */
export const feedChannel = 'fieldmirror_feed';

/**
 * Gives the committed entries their positions, in a separate transaction: others wait for its end.
 */
export async function sequenceFeed(pool: pg.Pool): Promise<void> {
  await pool.query('SELECT sync.sequence_feed()');
}

/** Replaces a value that the reader may not see. */
const mask = '•••';

/** An entry of the feed without its personal values. */
export function hideEntry<T extends Pick<FeedEntry, 'table' | 'before' | 'after'>>(entry: T): T {
  const maskValues = (values: FieldValues | null) =>
    values &&
    Object.fromEntries(
      Object.entries(values).map(([field, value]) => [
        field,
        value === null || value === '' || !isPersonal(entry.table, field) ? value : mask,
      ]),
    );
  return {...entry, before: maskValues(entry.before), after: maskValues(entry.after)};
}

/** The `type` of a message, as Standard Webhooks defines it. */
export const messageType = 'feed.entries';

/** An entry as it is sent to a subscriber, whose own entries are left out. */
type SentEntry = Omit<FeedEntry, 'own'>;

export interface FeedBatch {
  readonly entries: readonly SentEntry[];
  /** The cursor behind the last entry, or behind entries that are not sent. */
  readonly to: string;
}

/** Many receivers refuse bodies from 1 MB on. A single entry that is larger is sent alone. */
const maxCharacters = 500_000;

/** What a subscriber is sent. */
interface Subscription extends Pick<FeedQuery, 'accountId' | 'tables' | 'columns' | 'system'> {
  /** Writers whose entries are not sent; null: no writer. */
  readonly leavesOut: readonly string[] | null;
  /** Whether personal values are hidden. */
  readonly masks: boolean;
  /** The most entries in one batch. */
  readonly most: number;
}

/**
 * Reads the next batch for a subscriber. With `batchTo` it is the same batch as when that was
 * stored.
 * @throws {CursorError} the feed cannot be read from its cursor
 */
export async function readFeedBatch(
  db: Queryable,
  {accountId, tables, columns, leavesOut, masks, most, system}: Subscription,
  {cursor, batchTo}: {readonly cursor: string; readonly batchTo: string | null},
): Promise<FeedBatch> {
  const readers = leavesOut ?? [];
  const scope = {tables, columns, changes: false, accountId, readers, system};
  const query = {...scope, after: cursor, limit: most};
  const {entries, to} =
    batchTo === null ? await readNext(db, query) : await readUpTo(db, query, batchTo);
  const entriesToSend = entries.filter(({own}) => !own);
  return {
    to,
    entries: entriesToSend.map(({own: _, ...entry}) => (masks ? hideEntry(entry) : entry)),
  };
}

interface ReadBatch {
  readonly entries: readonly FeedEntry[];
  readonly to: string;
}

async function readNext(db: Queryable, query: FeedQuery): Promise<ReadBatch> {
  const page = await readFeed(db, query);
  const entries = cutToSize(page.entries);
  const isCut = entries.length < page.entries.length;
  return {entries, to: isCut ? (entries.at(-1)?.cursor ?? page.cursor) : page.cursor};
}

/**
 * Reads the entries of a stored batch. Its subscriber may have other settings by now, so one page
 * may not reach its end.
 */
async function readUpTo(db: Queryable, query: FeedQuery, endCursor: string): Promise<ReadBatch> {
  const entries: FeedEntry[] = [];
  for (let {after} = query, hasMore = true; hasMore; ) {
    const page = await readFeed(db, {...query, after});
    entries.push(
      ...page.entries.filter(({cursor}) => readPosition(cursor) <= readPosition(endCursor)),
    );
    after = page.cursor;
    hasMore = page.hasMore && readPosition(after) < readPosition(endCursor);
  }
  return {entries, to: endCursor};
}

function cutToSize(entries: readonly FeedEntry[]): readonly FeedEntry[] {
  let characters = 0;
  const cutIndex = entries.findIndex((entry, index) => {
    characters += JSON.stringify(entry).length;
    return index > 0 && characters > maxCharacters;
  });
  return cutIndex === -1 ? entries : entries.slice(0, cutIndex);
}

function readPosition(cursor: string): bigint {
  return BigInt(cursor.split('-')[1] ?? '');
}

interface WatchDeps {
  /** For our own sessions: no pooler in between. */
  readonly directUrl: string;
  readonly pool: pg.Pool;
  /** Called with a text if the feed is late; no entry is lost then. */
  readonly onProblem: (text: string) => void;
}

export class FeedWatch {
  readonly #deps: WatchDeps;
  readonly #notices: NoticeWatch;
  #sequencing: Promise<void> | null = null;

  constructor(deps: WatchDeps) {
    const {directUrl, onProblem} = deps;
    this.#deps = deps;
    this.#notices = new NoticeWatch({
      directUrl,
      channel: feedChannel,
      onFailure: (error) => onProblem(`new entries are not reported: ${error}`),
    });
  }

  /** Aborts when the watch is closed. */
  get signal(): AbortSignal {
    return this.#notices.signal;
  }

  /**
   * Gives positions to the entries committed by now. Never fails: entries with positions can be
   * read in any case.
   */
  async sequence(): Promise<void> {
    // A sequencing that began earlier may have missed the latest commit.
    await this.#sequencing;
    this.#sequencing ??= sequenceFeed(this.#deps.pool)
      .catch((error: unknown) => this.#deps.onProblem(`new entries get no positions: ${error}`))
      .finally(() => {
        this.#sequencing = null;
      });
    await this.#sequencing;
  }

  /**
   * Begins to listen.
   * @returns a function that waits for a notice since this call, for some time at most, or until
   *   the signal aborts
   */
  watch(): WaitOn {
    return this.#notices.watch();
  }

  /** Ends every wait, and stops listening. */
  close(): void {
    this.#notices.close();
  }
}
