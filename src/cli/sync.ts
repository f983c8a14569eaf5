// Sweeps that a person requests: the verbs `sync` and `quarantine retry`. Also how each verb waits
// for sweeps and reports their ends.

import {type EventEmitter, once} from 'node:events';
import {setTimeout as wait} from 'node:timers/promises';
import {runSweepJob} from '../../jobs/queue-jobs.ts';
import {endDeadLeases} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {RetryableError, seeNumber, UsageError} from '../core/errors.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import {nameThisProcess} from '../core/lease.ts';
import {inTone, isId, printErr} from '../core/text.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {allStreams, findStream} from '../streams/all.ts';
import {nameWindow, type Stream} from '../streams/stream.ts';
import {countRows, findSweepDocs, readRowsLeft} from '../sweeps/story.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import {
  failIdleSweeps,
  type HeldSweep,
  listEndedSweeps,
  listHeldSweeps,
  requestSweep,
  type Sweep,
  type SweepRequest,
} from '../sweeps/sweeps.ts';
import {chooseAccount, requireActive} from './accounts.ts';
import {requireOpened, withApp} from './app.ts';
import {type Progress, watchProgress} from './progress.ts';
import {findEntry, type QuarantineEntryWithXml} from './sweeps.ts';
import {fitTable, print, wrap} from './terminal.ts';
import type {Warehouse} from './warehouse.ts';

interface SyncOptions {
  /** A window's name, or a filter as `name=value`. */
  readonly window?: string;
  /** More filters; all of them must hold. */
  readonly filter?: readonly string[];
  readonly record?: string;
  readonly account?: string;
  readonly json: boolean;
}

/**
 * Sweeps now, in this process, without the queue. If a worker has the sweep in progress, the verb
 * waits for it.
 * @param names - streams; none means all
 * @returns the exit code
 * @throws {UsageError} an unknown stream, window, filter or number
 */
export async function sync(
  config: Config,
  names: readonly string[],
  options: SyncOptions & {signal: AbortSignal},
): Promise<number> {
  const streams = chooseStreams(names, options);
  return await withApp(
    config,
    async (app) => {
      const account = requireActive(await chooseAccount(app, options.account));
      await requireOpened(app, account);
      const {accountId} = account;
      // Without a name the environment's account is used, which a person with several may not
      // expect.
      if (options.account === undefined && !options.json && (await app.listKnown()).length > 1)
        printErr(`of account ${account.name}; --account NAME sweeps another one\n`);
      const progress = watchProgress(options.json);
      const runSweep = makeSweepRunner({...app, onProgress: progress.advance}, options.signal);
      const sweeps: Sweep[] = [];
      for (const stream of streams) {
        const request = {...chooseKind(stream, options), accountId, stream: stream.name};
        const sweepId = await requestSweepNow(app, request, progress);
        sweeps.push(
          ...(await watchSweeps(app, [sweepId], {progress, signal: options.signal, run: runSweep})),
        );
      }
      progress.close();
      const summaries = await summarise(app, sweeps);
      print(options.json, {json: {streams: summaries}, text: `\n${formatSummary(summaries)}`});
      return exitCodeOfSweeps(summaries);
    },
    {signal: options.signal},
  );
}

/** Runs a sweep here, unless a worker has it; takes it over if that worker fails. */
function makeSweepRunner(deps: SweepDeps, signal: AbortSignal): (sweepId: string) => Promise<void> {
  return async (sweepId) => {
    await runSweepJob(deps, sweepId, {signal, isWatched: true});
  };
}

function chooseStreams(names: readonly string[], options: SyncOptions): readonly Stream[] {
  const streams = names.length === 0 ? allStreams : names.map(findStream);
  checkRecord(names, options);
  for (const stream of streams) chooseKind(stream, options);
  return streams;
}

function checkRecord(names: readonly string[], {record, ...options}: SyncOptions): void {
  if (record === undefined) return;
  if (listTerms(options).length > 0)
    throw new UsageError('sync: expected --window and --filter, or --record, got both');
  if (names.length !== 1)
    throw new UsageError(
      `sync: --record needs one stream, got ${names.length}: sync jobs --record 4711`,
    );
  if (!isId(record)) throw new UsageError(`sync: --record: expected a number, got "${record}"`);
}

/** @throws {UsageError} the stream has no such window or filter */
function chooseKind(
  stream: Stream,
  options: SyncOptions,
): Pick<SweepRequest, 'mode' | 'windowName' | 'recordNumber'> {
  const terms = listTerms(options);
  if (terms.length > 0) return {mode: 'window', windowName: nameWindow(stream, terms)};
  const {record} = options;
  return record === undefined ? {mode: 'full'} : {mode: 'record', recordNumber: record};
}

function listTerms({
  window,
  filter = [],
}: Pick<SyncOptions, 'window' | 'filter'>): readonly string[] {
  const invalidFilter = filter.find((term) => !term.includes('='));
  if (invalidFilter !== undefined)
    throw new UsageError(`sync: --filter: expected name=value, got "${invalidFilter}"`);
  return [...(window === undefined ? [] : [window]), ...filter];
}

/** The outcome of a retry. */
interface RetryResult {
  readonly quarantineId: string;
  readonly outcome: 'read' | 'gone' | 'still-bad' | 'not-answered';
  readonly reason: string | null;
}

type NumberedEntry = QuarantineEntryWithXml & {readonly number: string};

/**
 * Requests records by their numbers now, in this process.
 * @returns the exit code: 1 if one of them still cannot be read
 * @throws {UsageError} there is no such entry, or it has no number
 */
export async function quarantineRetry(
  config: Config,
  ids: readonly string[],
  {json, signal}: {readonly json: boolean; readonly signal: AbortSignal},
): Promise<number> {
  return await withApp(
    config,
    async (app) => {
      const entries: NumberedEntry[] = [];
      for (const id of ids) entries.push(requireNumber(await findEntry(app.pool, id)));
      for (const name of new Set(entries.map(({account}) => account)))
        await requireOpened(app, requireActive(await chooseAccount(app, name)));
      const progress = watchProgress(json);
      const watch = {progress, signal, run: makeSweepRunner(app, signal)};
      const retried: RetryResult[] = [];
      for (const {quarantineId, accountId, stream, number} of entries) {
        const request = {accountId, stream, mode: 'record', recordNumber: number} as const;
        const sweeps = await watchSweeps(
          app,
          [await requestSweepNow(app, request, progress)],
          watch,
        );
        retried.push(toRetryResult(await findEntry(app.pool, quarantineId), sweeps[0]));
      }
      progress.close();
      print(json, {json: {retried}, text: retried.map(formatRetried).join('\n')});
      return retried.every(({outcome}) => outcome === 'read' || outcome === 'gone') ? 0 : 1;
    },
    {signal},
  );
}

function requireNumber(entry: QuarantineEntryWithXml): NumberedEntry {
  const {number, quarantineId, stream} = entry;
  if (number !== null) return {...entry, number};
  throw new UsageError(
    `quarantine ${quarantineId}: its number could not be read, so that it cannot be requested; ` +
      `fieldmirror sync ${stream} reads the whole list`,
  );
}

function toRetryResult(entry: QuarantineEntryWithXml, sweep: Sweep | undefined): RetryResult {
  const {quarantineId, resolvedAt, reason, sweepId} = entry;
  if (resolvedAt !== null) {
    const absent = sweep?.evidence.absent;
    if (absent === undefined) return {quarantineId, outcome: 'read', reason: null};
    return {
      quarantineId,
      outcome: 'gone',
      reason: `the service said ${absent.status} "${absent.message}"`,
    };
  }
  if (sweepId === sweep?.sweepId) return {quarantineId, outcome: 'still-bad', reason};
  return {quarantineId, outcome: 'not-answered', reason: sweep?.error ?? null};
}

const outcomes: Readonly<Record<RetryResult['outcome'], string>> = {
  read: 'it was read, and is in the warehouse',
  gone: 'it no longer exists at the service',
  'still-bad': 'it still cannot be read',
  'not-answered': 'the service gave no answer',
};

function formatRetried({quarantineId, outcome, reason}: RetryResult): string {
  return wrap(
    `quarantine ${quarantineId}: ${outcomes[outcome]}${reason === null ? '' : `: ${reason}`}`,
  );
}

// Every verb requests sweeps and waits for their ends in this way. The row of a sweep decides that
// the sweep has ended, not the worker that ran it. Another worker may have it, or its account may
// be stopped before any worker claims it.

const checkEveryMs = 100;
/**
 * After this time the verb prints which process it waits for: a sweep that ends at once ends
 * earlier.
 */
const patienceMs = 500;
const unreachableMs = 60_000;

interface Watch {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Runs a sweep here as far as possible, if it is due; left out if workers run sweeps. */
  readonly run?: (sweepId: string) => Promise<void>;
  /**
   * Emits `ended` when a worker of this process has ended a sweep. The row is then read at once,
   * and not only at the next interval.
   */
  readonly ends?: EventEmitter<{ended: []}>;
}

/** Requests a sweep that is due at once, and shows it. @returns its number */
export async function requestSweepNow(
  {pool}: Pick<Warehouse, 'pool'>,
  request: Omit<SweepRequest, 'requestedBy'>,
  progress: Progress,
): Promise<string> {
  const {sweepId} = await requestSweep(pool, {...request, requestedBy: 'command'});
  const {name} = findStream(request.stream);
  progress.begin(name, (await readRowsLeft(pool, request.accountId, name)) ?? 0);
  return sweepId;
}

/**
 * Waits until the row of every sweep shows its end, in any process. If the database is unreachable
 * for a while, the wait continues. A sweep of an account that is no longer active ends as failed.
 */
export async function watchSweeps(
  warehouse: Pick<Warehouse, 'pool' | 'databaseUrl'>,
  sweepIds: readonly string[],
  watch: Watch,
): Promise<Sweep[]> {
  const ended = new Map<string, Sweep>();
  const printedHolders = new Set<string>();
  const beganAt = performance.now();
  let lastReadAt = beganAt;
  while (ended.size < sweepIds.length) {
    try {
      await checkOnce(warehouse, {sweepIds, ended}, watch);
      lastReadAt = performance.now();
      if (lastReadAt - beganAt > patienceMs)
        await printHolders(
          warehouse,
          sweepIds.filter((id) => !ended.has(id)),
          {...watch, told: printedHolders},
        );
    } catch (cause) {
      const error = explainDatabaseError(cause, warehouse.databaseUrl);
      if (!(error instanceof RetryableError) || performance.now() - lastReadAt > unreachableMs)
        throw error;
    }
    if (ended.size < sweepIds.length) await pause(watch);
  }
  return sweepIds.flatMap((id) => ended.get(id) ?? []);
}

async function pause({ends, signal}: Watch): Promise<void> {
  if (ends === undefined) return await wait(checkEveryMs, undefined, {signal});
  const stopOrTimeout = AbortSignal.any([signal, AbortSignal.timeout(checkEveryMs)]);
  await once(ends, 'ended', {signal: stopOrTimeout}).catch(() => signal.throwIfAborted());
}

async function checkOnce(
  {pool}: Pick<Warehouse, 'pool'>,
  {sweepIds, ended}: {readonly sweepIds: readonly string[]; readonly ended: Map<string, Sweep>},
  {progress, run}: Watch,
): Promise<void> {
  const isOpen = (sweepId: string) => !ended.has(sweepId);
  if (run !== undefined) for (const sweepId of sweepIds.filter(isOpen)) await run(sweepId);
  const open = sweepIds.filter(isOpen);
  await failIdleSweeps(pool, open);
  for (const sweep of await listEndedSweeps(pool, open)) {
    ended.set(sweep.sweepId, sweep);
    progress.end(sweep.stream, describeEnd(sweep));
  }
}

/**
 * Names each process once that has a sweep which the verb waits for: a silent wait looks like a
 * program that hangs. A process that has certainly ended loses its sweep at once.
 */
async function printHolders(
  {pool}: Pick<Warehouse, 'pool'>,
  sweepIds: readonly string[],
  {progress, told: printedHolders}: Pick<Watch, 'progress'> & {readonly told: Set<string>},
): Promise<void> {
  const elsewhere = (await listHeldSweeps(pool, sweepIds)).filter(
    ({claimedBy}) => claimedBy !== nameThisProcess(),
  );
  if (elsewhere.length === 0 || (await endDeadLeases(pool)) > 0) return;
  for (const sweep of elsewhere) {
    const mark = `${sweep.sweepId} ${sweep.claimedBy}`;
    if (printedHolders.has(mark)) continue;
    printedHolders.add(mark);
    progress.note(describeHolder(sweep));
  }
}

function describeHolder({sweepId, stream, claimedBy, leaseMs}: HeldSweep): string {
  const timeLeft = formatDuration(Math.max(1_000, leaseMs));
  const holder = claimedBy === null ? 'another process' : `another process (${claimedBy})`;
  return (
    `${stream}: waiting for ${holder}, which has sweep ${sweepId} in progress; ` +
    `if that process has ended, the sweep continues here in ${timeLeft} at most`
  );
}

/** One line of the closing table. */
interface StreamSummary {
  readonly stream: string;
  readonly state: string;
  readonly records: number;
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly tombstoned: number;
  readonly quarantined: number;
  readonly seconds: number;
  readonly recordsPerSecond: number;
  /** Why the sweep is not certified. */
  readonly reasons: readonly string[];
  /** If one record was requested: the evidence that the service has none of that number. */
  readonly absent: string | null;
  readonly error: string | null;
  /** The number of the page with cause and fix; null if nothing has to be fixed. */
  readonly docs: string | null;
}

/** One line on how a sweep ended. */
function describeEnd(sweep: Sweep): string {
  const {counts} = sweep;
  if (sweep.state === 'failed') return `${sweep.stream.padEnd(10)} failed: ${sweep.error}`;
  const pages = `${formatNumber(counts.pages)} ${counts.pages === 1 ? 'page' : 'pages'}`;
  const parts = [
    `${formatNumber(counts.records)} records in ${pages}`,
    `${formatNumber(counts.inserted)} new`,
    `${formatNumber(counts.updated)} changed`,
    `${formatNumber(counts.unchanged)} unchanged`,
  ];
  if (counts.tombstoned > 0) parts.push(`${formatNumber(counts.tombstoned)} gone`);
  if (counts.quarantined > 0) parts.push(`${formatNumber(counts.quarantined)} in quarantine`);
  return `${sweep.stream.padEnd(10)} ${sweep.state}: ${parts.join(', ')}`;
}

/**
 * The service's answer that it has no record of the requested number; null if there is no such
 * answer.
 */
function describeAbsent({stream, recordNumber, evidence, counts}: Sweep): string | null {
  if (evidence.absent === undefined) return null;
  const {status, message} = evidence.absent;
  const row = counts.tombstoned > 0 ? 'its row is marked deleted' : 'no row of it is held here';
  const record = `${findStream(stream).item} ${recordNumber}`;
  return `the service has no ${record} (${status} "${message}"), and ${row}`;
}

export async function summarise(
  {pool}: Pick<Warehouse, 'pool'>,
  sweeps: readonly Sweep[],
): Promise<StreamSummary[]> {
  return await Promise.all(
    sweeps.map(async (sweep) => {
      const seconds = (Date.parse(sweep.endedAt ?? '') - Date.parse(sweep.startedAt ?? '')) / 1000;
      return {
        stream: sweep.stream,
        state: sweep.state,
        records: sweep.counts.records,
        // A window sweep counts no rows at its end.
        rows:
          sweep.rows ?? (await countRows(pool, findStream(sweep.stream).table, sweep.accountId)),
        inserted: sweep.counts.inserted,
        updated: sweep.counts.updated,
        tombstoned: sweep.counts.tombstoned,
        quarantined: sweep.counts.quarantined,
        seconds,
        recordsPerSecond: seconds > 0 ? Math.round(sweep.counts.records / seconds) : 0,
        reasons: sweep.reasons,
        absent: describeAbsent(sweep),
        error: sweep.error,
        docs: findSweepDocs(sweep.state),
      };
    }),
  );
}

export function formatSummary(summaries: readonly StreamSummary[]): string {
  const head = [
    'stream',
    'state',
    'records read',
    'rows in the warehouse',
    'seconds',
    'records a second',
  ];
  const rows = summaries.map((line) => [
    line.stream,
    inTone(line.state),
    line.records,
    line.rows,
    line.seconds,
    line.recordsPerSecond,
  ]);
  const remarks = summaries.flatMap((line) =>
    [...line.reasons, line.absent ?? [], line.error ?? []]
      .flat()
      .map(
        (remark) =>
          `${line.stream}: ${remark}${line.docs === null ? '' : ` (${seeNumber(line.docs)})`}`,
      ),
  );
  return [fitTable(head, rows), ...remarks].join('\n');
}

/** 3 when a sweep failed, 1 when records were refused or a person must approve, else 0. */
export function exitCodeOfSweeps(summaries: readonly StreamSummary[]): number {
  if (summaries.some((line) => line.state === 'failed')) return 3;
  return summaries.some((line) => line.quarantined > 0 || line.state === 'stopped') ? 1 : 0;
}
