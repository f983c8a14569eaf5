import type {Queryable} from '../postgres/database.ts';
import {hideEntry} from './hide-entry.ts';
import type {ClaimedHook} from './hook-claims.ts';
import {type FeedEntry, readFeed} from './read-feed.ts';

/** The `type` of a message, as Standard Webhooks has it. */
export const messageType = 'feed.entries';

/** An entry as a subscriber is sent it: its own entries are left out. */
export type SentEntry = Omit<FeedEntry, 'own'>;

export interface Batch {
  readonly entries: readonly SentEntry[];
  /** Behind the last entry, or behind entries that are not sent. */
  readonly to: string;
}

/**
 * Receivers refuse large bodies, many of them from 1 MB on. One entry that is larger goes alone.
 */
const mostCharacters = 500_000;

/**
 * Reads what a subscriber is sent next. With `batchTo` it is the same batch as when that was noted.
 * @throws {CursorError} its cursor cannot be read from
 */
export async function readBatch(
  db: Queryable,
  {accountId, tables, leavesOut, masks, most}: ClaimedHook,
  {cursor, batchTo}: Pick<ClaimedHook, 'cursor' | 'batchTo'>,
): Promise<Batch> {
  const page = await readFeed(db, {after: cursor, limit: most, tables, accountId, reader: null});
  const kept =
    batchTo === null
      ? cutToSize(page.entries)
      : page.entries.filter((entry) => positionOf(entry.cursor) <= positionOf(batchTo));
  const isCut = kept.length < page.entries.length;
  const to = batchTo ?? (isCut ? (kept.at(-1)?.cursor ?? page.cursor) : page.cursor);
  const sent = kept.filter((entry) => !(leavesOut ?? []).includes(writerOf(entry) ?? ''));
  return {to, entries: sent.map(({own: _, ...entry}) => (masks ? hideEntry(entry) : entry))};
}

/** A login, or `http: ` and the name of a key; null where it came from the service. */
function writerOf({written_by, application}: FeedEntry): string | null {
  return application?.startsWith('http: ') === true ? application : written_by;
}

function cutToSize(entries: readonly FeedEntry[]): readonly FeedEntry[] {
  let characters = 0;
  const tooLarge = entries.findIndex((entry, at) => {
    characters += JSON.stringify(entry).length;
    return at > 0 && characters > mostCharacters;
  });
  return tooLarge === -1 ? entries : entries.slice(0, tooLarge);
}

function positionOf(cursor: string): bigint {
  return BigInt(cursor.split('-')[1] ?? '');
}
