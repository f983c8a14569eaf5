// What changed, as sync.feed tells it: for the HTTP API and the terminal.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {EntryOperation} from './entry-operations.ts';

/** One entry of the feed. Numbers are text, instants ISO 8601 in UTC. */
export interface FeedEntry {
  /** Behind this entry: the feed goes on from there. */
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
}

export type FieldValues = Readonly<Record<string, unknown>>;

export interface FeedQuery {
  /** A cursor; null: the oldest entry kept; `end`: nothing but the cursor of now. */
  readonly after: string | null;
  readonly limit: number;
  /** Null: all tables. */
  readonly tables: readonly string[] | null;
  /** Null: all accounts. */
  readonly accountId: string | null;
  /** The application whose entries are its own; null: the login. */
  readonly reader: string | null;
}

/** Entries, and the cursor to go on from. */
export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  readonly cursor: string;
}

/** A cursor that cannot be read from: it is no cursor, or what it asks for is not there. */
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

const columns = `entry.cursor, entry.entry_id AS id, entry.account, entry.table_name AS "table", entry.row_id, entry.number, entry.external_key,
  entry.operation, entry.before, entry.after, entry.at, entry.written_by, entry.application, entry.change_id, entry.own`;

/**
 * Reads what follows a cursor, of the entries that have a position. The end of the feed is read in
 * the same statement: no entry is between the entries given and the cursor to go on from.
 * @throws {CursorError}
 */
export async function readFeed(db: Queryable, query: FeedQuery): Promise<FeedPage> {
  const {after, limit, tables, accountId, reader} = query;
  const isEnd = after === 'end';
  const values = [isEnd ? null : after, isEnd ? 0 : limit, tables, accountId, reader];
  const {rows} = await db
    .query<FeedEntry & {end: string}>(
      `SELECT sync.feed_end() AS end, ${columns} FROM (SELECT) AS one LEFT JOIN sync.feed($1, $2, $3, $4, $5) AS entry ON true`,
      values,
    )
    .catch((error: unknown) => {
      throw toCursorError(error);
    });
  const entries = rows.filter(({cursor}) => cursor !== null).map(({end: _, ...entry}) => entry);
  const end = rows[0]?.end ?? '';
  return {entries, cursor: entries.length < limit ? end : (entries.at(-1)?.cursor ?? end)};
}

function toCursorError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const isGone = error.code === 'FM410';
  return isGone || error.code === '22023'
    ? new CursorError(error.message, {isGone, cause: error})
    : error;
}

/** The channel of Postgres that tells of new entries: sync.tell_feed names it. */
export const feedChannel = 'fieldmirror_feed';

/**
 * Gives the committed entries their positions. A transaction of its own: others wait for its end.
 */
export async function sequenceFeed(pool: pg.Pool): Promise<void> {
  await pool.query('SELECT sync.sequence_feed()');
}
