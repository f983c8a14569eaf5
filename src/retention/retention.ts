// How long things are kept: rows of sync.retention, one for each kind; of the feed a column of its
// own row.

import type {Queryable} from '../postgres/database.ts';
import {type RetentionName, retentionKinds, rowKinds} from './retention-kinds.ts';

/** How long one kind of thing is kept. Instants are ISO 8601 in UTC. */
export interface Retention {
  readonly kind: RetentionName;
  /** Whole days; null: for ever. */
  readonly days: number | null;
  /** What is older than this may be gone; null where nothing was ever removed. */
  readonly prunedTo: string | null;
  /** Since ever. */
  readonly removed: number;
}

const dayOfSeconds = 86_400;

/** Gives each kind that has none yet the row of its default; a row that is there stays as it is. */
export async function applyRetention(db: Queryable): Promise<void> {
  await db.query(
    `INSERT INTO sync.retention (kind, kept_for)
     SELECT kind, make_interval(days => days) FROM jsonb_to_recordset($1::jsonb) AS preset (kind text, days integer)
         ON CONFLICT (kind) DO NOTHING`,
    [JSON.stringify(rowKinds.map(({name, defaultDays}) => ({kind: name, days: defaultDays})))],
  );
}

/** How long everything is kept. */
export interface RetentionStory {
  /** In the order of pruning. */
  readonly kinds: readonly Retention[];
  /** When the last pruning ended, ISO 8601; null before the first. */
  readonly prunedAt: string | null;
}

/** Reads how long things are kept, and when what is older was last removed, in one statement. */
export async function readRetention(db: Queryable): Promise<RetentionStory> {
  const {rows} = await db.query<Retention & {prunedAt: string | null}>(
    `SELECT kind, ceil(extract(epoch FROM kept_for) / ${dayOfSeconds})::integer AS days, pruned_to AS "prunedTo", removed::float8 AS removed,
            (SELECT ended_at FROM sync.prunings) AS "prunedAt"
       FROM (SELECT kind, kept_for, pruned_to, removed FROM sync.retention
              UNION ALL
             SELECT 'feed', make_interval(days => keep_days), (SELECT at FROM sync.feed_entries WHERE removed_to > 0 AND position > removed_to ORDER BY position LIMIT 1), removed_to
               FROM sync.feed_state) AS held
      ORDER BY array_position($1::text[], kind)`,
    [retentionKinds.map(({name}) => name)],
  );
  return {kinds: rows.map(({prunedAt, ...kind}) => kind), prunedAt: rows[0]?.prunedAt ?? null};
}

/** Sets how long a kind is kept. @param days - null: for ever, where the kind may be */
export async function setRetention(
  db: Queryable,
  kind: RetentionName,
  days: number | null,
): Promise<void> {
  if (kind === 'feed') {
    await db.query('UPDATE sync.feed_state SET keep_days = $1', [days]);
    return;
  }
  await db.query('UPDATE sync.retention SET kept_for = make_interval(days => $2) WHERE kind = $1', [
    kind,
    days,
  ]);
}
