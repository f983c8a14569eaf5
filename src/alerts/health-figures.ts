import {type Account, listAccounts} from '../accounts/accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import {
  type ChangeCount,
  countChanges,
  type LateChanges,
  listLateChanges,
} from '../changes/change-health.ts';
import {
  listReportLists,
  listTargets,
  type ReportListHealth,
  type TargetHealth,
} from '../delivery/targets.ts';
import {
  countFieldEvents,
  countOpenQuarantine,
  countUnfinishedSweeps,
  type FieldEventCount,
  listNextDue,
  listStreamFigures,
  listTableSizes,
  type NextDue,
  type OpenQuarantine,
  readDatabaseBytes,
  type StreamFigures,
  type TableSize,
  type UnfinishedSweeps,
} from '../health/figures.ts';
import {readNow} from '../postgres/checks.ts';
import type {Queryable} from '../postgres/database.ts';
import {type RetentionStory, readRetention} from '../retention/retention.ts';
import {readWaitingSince} from '../star/refresh-star.ts';
import {allStreams} from '../streams/all.ts';
import {wholeList} from '../streams/stream.ts';
import {
  listOverdueSchedules,
  listPromisedFreshness,
  type OverdueSchedule,
  type PromisedFreshness,
} from '../sweeps/schedules.ts';

/**
 * The health of the whole warehouse in figures; `readAccounts` tells the same of each account with
 * its rows and reasons.
 */
export interface HealthFigures {
  /** ISO 8601, by the clock of the database. */
  readonly now: string;
  readonly accounts: readonly Account[];
  /** Of every account and stream. */
  readonly streams: readonly StreamFigures[];
  /** The freshness that was promised of streams, and when their whole lists were last read. */
  readonly promises: readonly PromisedFreshness[];
  readonly unfinished: readonly UnfinishedSweeps[];
  readonly nextDue: readonly NextDue[];
  /** Schedules that have not run for two of their intervals. */
  readonly overdue: readonly OverdueSchedule[];
  readonly quarantine: readonly OpenQuarantine[];
  /** How many changes made here are not over, by state. */
  readonly changes: readonly ChangeCount[];
  /** The changes that need a person. */
  readonly late: readonly LateChanges[];
  readonly events: readonly FieldEventCount[];
  readonly tables: readonly TableSize[];
  readonly databaseBytes: number;
  /** How long things are kept, and how many were removed. */
  readonly retention: RetentionStory;
  /** Workers that have looked for work within the last minute. */
  readonly workersAlive: number;
  /** When the oldest change was made that the star does not hold; null where it holds all. */
  readonly starWaitsSince: string | null;
  /** Where the star is delivered. */
  readonly targets: readonly TargetHealth[];
  /** Who gets the weekly report. */
  readonly reportLists: readonly ReportListHealth[];
}

/** Reads the figures in a fixed number of statements, however many accounts there are. */
export async function readHealthFigures(db: Queryable): Promise<HealthFigures> {
  const now = await readNow(db);
  const accounts = await listAccounts(db);
  const ids = accounts.map(({accountId}) => accountId);
  const workers = await listWorkers(db);
  return {
    now,
    accounts,
    streams: await listStreamFigures(
      db,
      allStreams.map(({name}) => name),
    ),
    promises: await listPromisedFreshness(db, {accountId: null}, wholeList),
    unfinished: await countUnfinishedSweeps(db),
    nextDue: await listNextDue(db),
    overdue: await listOverdueSchedules(db, ids),
    quarantine: await countOpenQuarantine(db),
    changes: await countChanges(db, ids),
    late: await listLateChanges(db, ids),
    events: await countFieldEvents(db),
    tables: await listTableSizes(db),
    databaseBytes: await readDatabaseBytes(db),
    retention: await readRetention(db),
    workersAlive: workers.filter(({isAlive}) => isAlive).length,
    starWaitsSince: await readWaitingSince(db),
    targets: await listTargets(db),
    reportLists: await listReportLists(db),
  };
}
