// A warehouse whose streams are known already, so that every change is in the feed.

import type pg from 'pg';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';

/** An entry as SQL gives it. */
export interface Entry {
  readonly cursor: string;
  readonly entry_id: string;
  readonly account: string;
  readonly table_name: string;
  readonly row_id: string | null;
  readonly number: string | null;
  readonly external_key: string | null;
  readonly operation: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly at: string;
  readonly written_by: string | null;
  readonly application: string | null;
  readonly change_id: string | null;
  readonly own: boolean;
  readonly overwritten: boolean;
  readonly merged_into: string | null;
}

export interface FeedPlace extends CaptureWorld {
  /** Gives positions, and reads what follows a cursor. */
  feed(after?: string | null, tables?: readonly string[]): Promise<Entry[]>;
  end(): Promise<string>;
}

export async function openFeedPlace(): Promise<FeedPlace> {
  const world = await openCaptureWorld();
  return {
    ...world,
    feed: async (after = null, tables) => {
      await world.pool.query('SELECT sync.sequence_feed()');
      return await readEntries(world.pool, after, tables);
    },
    end: async () => {
      await world.pool.query('SELECT sync.sequence_feed()');
      return (
        (await world.pool.query<{cursor: string}>('SELECT sync.feed_end() AS cursor')).rows[0]
          ?.cursor ?? ''
      );
    },
  };
}

export async function readEntries(
  db: pg.Pool | pg.ClientBase,
  after: string | null,
  tables: readonly string[] | null = null,
): Promise<Entry[]> {
  return (await db.query<Entry>('SELECT * FROM sync.feed($1, 500, $2)', [after, tables])).rows;
}
