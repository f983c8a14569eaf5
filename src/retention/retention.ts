// What grows with time alone, and how long it is kept: rows of sync.retention, one for each kind;
// of the feed a column of its own row.

import {formatAgo, formatNumber} from '../core/format.ts';
import type {Queryable} from '../postgres/database.ts';

/** A kind of thing that is kept for a time. */
export interface RetentionKind {
  readonly name: RetentionName;
  /** Its name in a sentence. */
  readonly words: string;
  /** Whole days; null: for ever. */
  readonly defaultDays: number | null;
  /** Fewer would take away what others rest on. */
  readonly leastDays: number;
  /** True where it is never kept for ever. */
  readonly hasEnd?: boolean;
  /** What is kept and what goes, for people and editors. */
  readonly about: string;
}

/** The kinds that have a row in sync.retention. */
export const retentionNames = [
  'quiet_sweeps',
  'settled_changes',
  'versions',
  'alerts',
  'audit',
  'sessions',
] as const;

/** The days of the feed are in its own row, sync.feed_state. */
export type RetentionName = (typeof retentionNames)[number] | 'feed';

/** Every kind, in the order of pruning and telling. */
export const retentionKinds: readonly RetentionKind[] = [
  {
    name: 'quiet_sweeps',
    words: 'quiet sweeps',
    defaultDays: 7,
    leastDays: 2,
    about:
      'Sweeps that succeeded and changed nothing: afterwards each day and stream has one row ' +
      'in sync.sweep_days. The newest of each stream and window stays.',
  },
  {
    name: 'settled_changes',
    words: 'settled changes',
    defaultDays: 90,
    // A request of the HTTP API that comes again is answered with its changes for 30 days.
    leastDays: 31,
    about:
      'Changes that are over, with their attempts and conflicts. ' +
      'The versions that they wrote stay, with their author.',
  },
  {
    name: 'versions',
    words: 'versions',
    defaultDays: null,
    leastDays: 31,
    about:
      'Versions of rows that others have replaced. Once they are gone, ' +
      'there is no answer as of a moment before.',
  },
  {
    name: 'alerts',
    words: 'mended alerts',
    defaultDays: 90,
    leastDays: 2,
    about: 'Alerts that were mended, with the messages that told of them.',
  },
  {
    name: 'audit',
    words: 'audit',
    defaultDays: null,
    leastDays: 31,
    about: 'Entries of sync.audit: who did what in the console.',
  },
  {
    name: 'sessions',
    words: 'ended sessions',
    defaultDays: 90,
    leastDays: 2,
    about: 'Sessions and sign-in links of the console that are over.',
  },
  {
    name: 'feed',
    words: 'entries of the feed',
    defaultDays: 30,
    // A subscriber that fails is stopped after a day, and a person has the rest of a week to mend
    // it.
    leastDays: 7,
    hasEnd: true,
    about:
      'Entries of the feed. What a subscriber that is not stopped has yet to be sent stays up ' +
      'to twice as long.',
  },
];

/** The kinds that have a row in sync.retention, as `retentionNames`. */
export const rowKinds = retentionKinds.filter(({name}) => name !== 'feed');

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
     SELECT kind, make_interval(days => days)
     FROM jsonb_to_recordset($1::jsonb) AS preset (kind text, days integer)
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
    `SELECT kind, ceil(extract(epoch FROM kept_for) / ${dayOfSeconds})::integer AS days,
      pruned_to AS "prunedTo", removed::float8 AS removed,
            (SELECT ended_at FROM sync.prunings) AS "prunedAt"
       FROM (SELECT kind, kept_for, pruned_to, removed FROM sync.retention
              UNION ALL
             SELECT 'feed', make_interval(days => keep_days),
               (SELECT at FROM sync.feed_entries WHERE removed_to > 0 AND position > removed_to
               ORDER BY position LIMIT 1), removed_to
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

/**
 * `kept: quiet sweeps 7 days, …, audit for ever; pruned 12 min ago` @param now - ISO 8601, by the
 * database's clock
 */
export function tellRetention({kinds, prunedAt}: RetentionStory, now: string): string {
  const parts = kinds.map(({kind, days}) => `${wordsOf(kind)} ${tellDays(days)}`);
  const pruned = prunedAt === null ? 'not pruned yet' : `pruned ${formatAgo(prunedAt, now)}`;
  return `kept: ${parts.join(', ')}; ${pruned}`;
}

/** `7 days`, `for ever` */
export function tellDays(days: number | null): string {
  return days === null ? 'for ever' : `${formatNumber(days)} days`;
}

/** `quiet sweeps` */
export function wordsOf(kind: RetentionName): string {
  return findKind(kind)?.words ?? kind;
}

/**
 * A sentence for somebody who asked for a thing that is not there; empty where none of its kind was
 * ever removed.
 */
export async function tellPruned(db: Queryable, kind: RetentionName): Promise<string> {
  const {prunedTo = null} =
    (await readRetention(db)).kinds.find((each) => each.kind === kind) ?? {};
  const left = kind === 'quiet_sweeps' ? '; sync.sweep_days has their days' : '';
  return prunedTo === null
    ? ''
    : `; ${wordsOf(kind)} from before ${prunedTo} are no longer kept${left}`;
}

function findKind(kind: RetentionName): RetentionKind | undefined {
  return retentionKinds.find(({name}) => name === kind);
}
