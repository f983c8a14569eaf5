// What grows with time alone, and how long each kind of it is kept where nothing is set.

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
      'Sweeps that succeeded and changed nothing: afterwards each day and stream has one row in sync.sweep_days. The newest of each stream and window stays.',
  },
  {
    name: 'settled_changes',
    words: 'settled changes',
    defaultDays: 90,
    // A request of the HTTP API that comes again is answered with its changes for 30 days.
    leastDays: 31,
    about:
      'Changes that are over, with their attempts and conflicts. The versions that they wrote stay, with their author.',
  },
  {
    name: 'versions',
    words: 'versions',
    defaultDays: null,
    leastDays: 31,
    about:
      'Versions of rows that others have replaced. Once they are gone, there is no answer as of a moment before.',
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
      'Entries of the feed. What a subscriber that is not stopped has yet to be sent stays up to twice as long.',
  },
];

/** The kinds that have a row in sync.retention, as `retentionNames`. */
export const rowKinds = retentionKinds.filter(({name}) => name !== 'feed');
