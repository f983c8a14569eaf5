// One running sweep: its dependencies and state, the bound of its list, the records that it has to
// read again, and its end.

import type pg from 'pg';
import type {AccountApi} from '../accounts/open-accounts.ts';
import {FatalError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {inSweepTransaction, type Queryable} from '../postgres/database.ts';
import {listOwnedTables, type Stream, wholeList} from '../streams/stream.ts';
import type {Evidence} from './evidence.ts';
import type {FieldSightings} from './fields.ts';
import type {PageReader} from './page-reader.ts';
import {countRows} from './story.ts';
import {
  type ClaimedSweep,
  countNames,
  endSweep,
  type SweepCounts,
  type SweepStep,
} from './sweeps.ts';
import {writeTombstones} from './tombstones.ts';

/** One sweep that runs in this process. */
export interface SweepRun {
  readonly deps: SweepDeps;
  readonly sweep: ClaimedSweep;
  readonly stream: Stream;
  readonly account: AccountApi;
  readonly tally: SweepCounter;
  /** Fields that the sweep has met. */
  readonly fields: FieldSightings;
  /** Aborts at shutdown, and when another worker has taken the sweep over. */
  readonly signal: AbortSignal;
}

/** The end of a sweep; its counts are in its tally. */
interface Ended {
  readonly state: 'certified' | 'refreshed' | 'uncertified' | 'stopped';
  readonly reasons: readonly string[];
  readonly evidence: Evidence;
}

/** The end of a sweep after it was written. */
export interface Finished extends Ended {
  /** From its first claim, by the database's clock. */
  readonly durationMs: number;
}

/** The account, stream and id of a sweep: nearly every SQL statement needs them. */
export function scopeOf({sweep, stream}: Pick<SweepRun, 'sweep' | 'stream'>) {
  return {accountId: sweep.accountId, stream: stream.name, sweepId: sweep.sweepId};
}

/** Reports that the sweep has reached a step, and waits for the listener. */
export async function reportStep(run: SweepRun, step: SweepStep): Promise<void> {
  await run.deps.onSweepStep?.(step, run.sweep);
}

/**
 * The options of a sweep's requests: signal, rank within the account's budget, count of each
 * attempt.
 */
export function transportCallOf(run: SweepRun) {
  const {mode, windowName} = run.sweep;
  // A whole list is long: the short windows go before it.
  const isLong = mode === 'full' || windowName === wholeList;
  return {
    signal: run.signal,
    urgency: isLong ? ('full' as const) : ('fresh' as const),
    onAttempt: () => run.tally.add({requests: 1}),
  };
}

/** The limits beyond which a list counts as endless; the default is `usualBounds`. */
interface ListBounds {
  /** A list is stopped at this multiple of the records that it had before, ... */
  readonly multiple: number;
  /** ... and never below this many records. */
  readonly least: number;
  /** The limit if nothing is known about the list. */
  readonly unknown: number;
  /**
   * How many records outside of the known range a sweep finds before it stops: a service may answer
   * every number with a record.
   */
  readonly beyond: number;
}

/** The dependencies of a sweep. */
export interface SweepDeps {
  readonly pool: pg.Pool;
  /** The pool's address, for error messages; never printed unchanged. */
  readonly databaseUrl: string;
  /**
   * Opens the API of an account, the same one at every call.
   * @throws {FatalError} its token is not known here
   */
  readonly openAccount: (accountId: string) => Promise<AccountApi>;
  readonly pageReader: PageReader;
  readonly log: Logger;
  /** Called after every batch, for a person who watches. */
  readonly onProgress?: (progress: SweepProgress) => void;
  /** Called at each step of a sweep, which waits for it; a test may end the process there. */
  readonly onSweepStep?: (step: SweepStep, sweep: ClaimedSweep) => Promise<void>;
  /** The duration of a sweep's lease by the database's clock, unless it is renewed. */
  readonly leaseMs?: number;
  /** How many records are written at once, unless they are large. */
  readonly batchRecords?: number;
  /** The limits beyond which a list counts as endless; `usualBounds` if absent. */
  readonly listBounds?: ListBounds;
}

interface SweepProgress {
  readonly accountId: string;
  readonly stream: string;
  readonly records: number;
}

/** The counts of a sweep so far, including its earlier runs. */
export class SweepCounter {
  #counts: SweepCounts;

  constructor(counts: SweepCounts) {
    this.#counts = counts;
  }

  get counts(): SweepCounts {
    return this.#counts;
  }

  add(added: Partial<SweepCounts>): void {
    const sum = {...this.#counts};
    for (const name of countNames) sum[name] += added[name] ?? 0;
    this.#counts = {
      ...sum,
      unchanged: Math.max(0, sum.records - sum.inserted - sum.updated - sum.revived),
    };
  }

  /**
   * The counts plus those of a running write; `add` the write's counts only once it is committed.
   */
  with(added: Partial<SweepCounts>): SweepCounts {
    const counter = new SweepCounter(this.#counts);
    counter.add(added);
    return counter.counts;
  }
}

/**
 * A list that never ends shows new numbers on every page, and nothing in it reveals that. The sweep
 * stops it at a multiple of the expected size, and a person decides.
 */
export const usualBounds: ListBounds = {
  multiple: 4,
  least: 20_000,
  unknown: 5_000_000,
  beyond: 5_000,
};

/** How many records a list may contain. */
export class ListBound {
  readonly #run: SweepRun;
  readonly #most: number;

  constructor(run: SweepRun, expected: number | null) {
    const {multiple, least, unknown} = run.deps.listBounds ?? usualBounds;
    this.#run = run;
    this.#most = expected === null ? unknown : Math.max(least, multiple * expected);
  }

  /** @throws {FatalError} the list has more records than is plausible for the account */
  check(records: number, page: number): void {
    if (records <= this.#most) return;
    const {stream, account, sweep} = this.#run;
    const request = `GET ${stream.path}?page=${page} at ${account.api.transport.place}`;
    throw new FatalError(
      `${request}: expected the end of the list, at most ${this.#most} records by what it had ` +
        `before, got ${records} and no end; what was read is kept. If so many are right, ` +
        `fieldmirror sync ${stream.name} --account ${sweep.accountName} continues, ` +
        'up to a multiple of the rows held by then; if not, ask who runs the service',
      {kind: 'service'},
    );
  }
}

/**
 * The bound of a sweep's list, from the size of its last pass. If a person requested the sweep, the
 * stored rows count, too: that is how a person lets more than the bound through.
 * @param records - of the last pass of the same list; null if there was none
 */
export async function boundOf(run: SweepRun, records: number | null): Promise<ListBound> {
  const {deps, sweep, stream} = run;
  if (sweep.requestedBy !== 'command') return new ListBound(run, records);
  const storedRows = await countRows(deps.pool, stream.table, sweep.accountId);
  return new ListBound(
    run,
    records === null && storedRows === 0 ? null : Math.max(records ?? 0, storedRows),
  );
}

/**
 * Writes the end of a sweep, in one transaction with the writes that belong to it.
 * @param conclude - makes those writes; returns the counts they add
 */
export async function endRun(
  run: SweepRun,
  end: Ended,
  conclude: (client: pg.ClientBase) => Promise<Partial<SweepCounts>> = async () => ({}),
): Promise<Finished> {
  const {deps, sweep, stream, tally, account} = run;
  // A reason may name an element or a word that the service sent.
  const reasons = end.reasons.map((reason) => account.api.transport.hide(reason));
  const {counts, durationMs} = await inSweepTransaction(deps.pool, async (client) => {
    const counts = await conclude(client);
    const rows =
      sweep.mode === 'full' ? await countRows(client, stream.table, sweep.accountId) : null;
    const ended = {...end, reasons, rows, counts: tally.with(counts)};
    const durationMs = await endSweep(client, sweep, ended);
    await reportStep(run, 'end-written');
    return {counts, durationMs};
  });
  tally.add(counts);
  await reportStep(run, 'end-committed');
  return {...end, reasons, durationMs};
}

/**
 * Marks deleted every row for which the sweep has evidence, in the caller's transaction. A stream
 * that is not deletable stays unchanged.
 */
export async function markMissingDeleted(
  client: pg.ClientBase,
  {sweep, stream}: SweepRun,
): Promise<Pick<SweepCounts, 'tombstoned' | 'vanished'>> {
  if (!stream.isDeletable) return {tombstoned: 0, vanished: 0};
  return await writeTombstones(
    client,
    {table: stream.table, owned: listOwnedTables(stream)},
    sweep,
  );
}

/**
 * Notes in the sweep's row which records the service showed as they were before one of our changes.
 * Call it in the transaction that left their rows unchanged.
 */
export async function noteOlder(
  db: Queryable,
  sweepId: string,
  numbers: readonly string[],
): Promise<void> {
  if (numbers.length === 0) return;
  await db.query(
    `UPDATE sync.sweeps
        SET evidence = evidence || jsonb_build_object('older', jsonb_build_object(
              'pauses', coalesce((evidence #>> '{older,pauses}')::integer, 0),
              'numbers', (SELECT jsonb_agg(number) FROM (
                 SELECT jsonb_array_elements_text(evidence #> '{older,numbers}')
                  UNION SELECT unnest($2::text[])) AS noted (number))))
      WHERE sweep_id = $1`,
    [sweepId, numbers],
  );
}

/** The noted records; null if there are none. */
export async function readOlder(
  db: Queryable,
  sweepId: string,
): Promise<NonNullable<Evidence['older']> | null> {
  const {rows} = await db.query<{older: NonNullable<Evidence['older']> | null}>(
    `SELECT evidence->'older' AS older FROM sync.sweeps WHERE sweep_id = $1`,
    [sweepId],
  );
  return rows[0]?.older ?? null;
}

/**
 * Notes which records are left after the noted ones were read again. If there are any, the caller
 * pauses the sweep once more.
 */
export async function replaceOlder(
  db: Queryable,
  sweepId: string,
  older: NonNullable<Evidence['older']>,
): Promise<void> {
  await db.query(
    `UPDATE sync.sweeps
        SET evidence = CASE WHEN $2::jsonb IS NULL THEN evidence - 'older'
                            ELSE evidence || jsonb_build_object('older', $2::jsonb) END
      WHERE sweep_id = $1`,
    [sweepId, older.numbers.length === 0 ? null : JSON.stringify(older)],
  );
}
