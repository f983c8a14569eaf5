// A sweep as a row of sync.sweeps, and its states, counts and steps.

import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {sweeps} from './tables.ts';

type Row = typeof sweeps.$inferSelect;

/** The names of the counts, in one order. */
export const countNames = [
  'requests',
  'pages',
  'bytes',
  'records',
  'known',
  'asked',
  'inserted',
  'updated',
  'unchanged',
  'revived',
  'tombstoned',
  'vanished',
  'quarantined',
] as const satisfies readonly (keyof Row)[];

/** The counts of a sweep so far; each is explained by the comment of its column. */
export type SweepCounts = Readonly<Pick<Row, (typeof countNames)[number]>>;

const targetColumns = ['account_id', 'stream', 'mode', 'window_name', 'record_number'] as const;

/** The target of a sweep: a stream, a window of it, or one of its records. */
export type SweepTarget = ReadRow<Row, (typeof targetColumns)[number]>;

const columns = [
  ...targetColumns,
  'sweep_id',
  'state',
  'requested_by',
  'due_at',
  'started_at',
  'ended_at',
  'stage',
  'next_page',
  'fence',
  'lease_until',
  'failures',
  'reasons',
  'error',
  'evidence',
  'approved_at',
] as const satisfies readonly (keyof Row)[];

/** A row of sync.sweeps, whose definition says what each column means. */
export interface Sweep extends ReadRow<Row, (typeof columns)[number]> {
  readonly counts: SweepCounts;
}

/** A sweep that was taken up, with the name of its account. */
export interface ClaimedSweep extends Sweep {
  readonly accountName: string;
  /**
   * Whether it is a full sweep of a stream that was never read as a whole: its new rows are not in
   * the feed.
   */
  readonly isFirstLoad: boolean;
}

export type SweepMode = Sweep['mode'];
export type SweepState = Sweep['state'];
export type SweepStage = Sweep['stage'];

/** How a sweep ends. */
export type SweepEnd = Exclude<SweepState, 'due' | 'running'>;

/** The proof that a sweep is still ours. */
export type Claim = Pick<Sweep, 'sweepId' | 'fence'>;

/**
 * As SQL, true of a full sweep until a later one of its stream comes to an end, for that one knows
 * better.
 * @param sweep - the alias of sync.sweeps in the query
 */
export function isLatestOpinion(sweep: string): string {
  return `NOT EXISTS (
    SELECT FROM sync.sweeps AS later
     WHERE later.account_id = ${sweep}.account_id AND later.stream = ${sweep}.stream
     AND later.mode = 'full'
       AND later.sweep_id > ${sweep}.sweep_id
       AND later.state IN ('certified', 'uncertified', 'stopped'))`;
}

/**
 * The columns for a query that reads a `Sweep`. As JSON the counts arrive as numbers: none reaches
 * 2^53.
 */
export const sweepColumns = `${selectColumns(columns)},
  json_build_object(${countNames.map((name) => `'${name}', ${name}`).join(', ')}) AS counts`;

/**
 * The steps of a sweep between which it can be cut off. `…-written` is inside the transaction,
 * `…-committed` after it.
 */
export const sweepSteps = [
  'claimed',
  'batch-read',
  'batch-written',
  'batch-committed',
  'list-read',
  'list-verified',
  'numbers-asked',
  'numbers-written',
  'numbers-committed',
  'end-written',
  'end-committed',
] as const;

export type SweepStep = (typeof sweepSteps)[number];
