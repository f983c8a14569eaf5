// The one way to ask for sweeps and to wait for their ends, for every verb. A sweep's row decides
// that the sweep has ended, not the worker that carried it: another worker may have it, or its
// account may be stopped before any worker claims it.

import {type EventEmitter, once} from 'node:events';
import {setTimeout as wait} from 'node:timers/promises';
import {RetryableError} from '../core/errors.ts';
import {formatDuration} from '../core/format.ts';
import {isGone, nameThisProcess} from '../core/lease.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {findStream} from '../streams/all.ts';
import {countRows} from '../sweeps/story.ts';
import type {Sweep} from '../sweeps/sweep.ts';
import {
  failIdleSweeps,
  type HeldSweep,
  listEndedSweeps,
  listHeldSweeps,
  requestSweep,
  type SweepRequest,
} from '../sweeps/sweeps.ts';
import type {Progress} from './progress.ts';
import {describeEnd} from './sweep-summary.ts';
import type {Warehouse} from './with-warehouse.ts';

const lookEveryMs = 100;
/**
 * Until somebody is told what is waited for: the time in which a sweep that ends at once does so.
 */
const patienceMs = 500;
const outOfReachMs = 60_000;

export interface Watch {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Runs a sweep here as far as it goes, if it is due; left out where workers run sweeps. */
  readonly run?: (sweepId: string) => Promise<void>;
  /**
   * Tells `ended` when a worker of this process has ended a sweep; the row is looked at then, and
   * not only every so often.
   */
  readonly ends?: EventEmitter<{ended: []}>;
}

/** Asks for a sweep that is due at once, and shows it. @returns its number */
export async function askForSweep(
  {pool}: Pick<Warehouse, 'pool'>,
  asked: Omit<SweepRequest, 'requestedBy'>,
  progress: Progress,
): Promise<string> {
  const {sweepId} = await requestSweep(pool, {...asked, requestedBy: 'command'});
  const {name, table} = findStream(asked.stream);
  progress.begin(name, await countRows(pool, table, asked.accountId));
  return sweepId;
}

/**
 * Waits until the row of every sweep tells its end, in any process. A database that is away for a
 * while is waited for; a sweep of an account that is no longer active ends as failed.
 */
export async function watchSweeps(
  world: Pick<Warehouse, 'pool' | 'databaseUrl'>,
  sweepIds: readonly string[],
  watch: Watch,
): Promise<Sweep[]> {
  const ended = new Map<string, Sweep>();
  const told = new Set<string>();
  const beganAt = performance.now();
  let goodAt = beganAt;
  while (ended.size < sweepIds.length) {
    try {
      await lookOnce(world, {sweepIds, ended}, watch);
      goodAt = performance.now();
      if (goodAt - beganAt > patienceMs)
        await tellHeld(
          world,
          sweepIds.filter((id) => !ended.has(id)),
          {...watch, told},
        );
    } catch (cause) {
      const error = explainDatabaseError(cause, world.databaseUrl);
      if (!(error instanceof RetryableError) || performance.now() - goodAt > outOfReachMs)
        throw error;
    }
    if (ended.size < sweepIds.length) await pause(watch);
  }
  return sweepIds.flatMap((id) => ended.get(id) ?? []);
}

async function pause({ends, signal}: Watch): Promise<void> {
  if (ends === undefined) return await wait(lookEveryMs, undefined, {signal});
  const either = AbortSignal.any([signal, AbortSignal.timeout(lookEveryMs)]);
  await once(ends, 'ended', {signal: either}).catch(() => signal.throwIfAborted());
}

async function lookOnce(
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
 * Tells once of each process that has a sweep which is waited for: a wait without a word looks like
 * a program that hangs.
 */
async function tellHeld(
  {pool}: Pick<Warehouse, 'pool'>,
  sweepIds: readonly string[],
  {progress, told}: Pick<Watch, 'progress'> & {readonly told: Set<string>},
): Promise<void> {
  for (const held of await listHeldSweeps(pool, sweepIds)) {
    const mark = `${held.sweepId} ${held.claimedBy}`;
    if (held.claimedBy === nameThisProcess() || told.has(mark)) continue;
    told.add(mark);
    progress.note(describeHeld(held));
  }
}

function describeHeld({sweepId, stream, claimedBy, leaseMs}: HeldSweep): string {
  const left = formatDuration(Math.max(1_000, leaseMs));
  const holder = claimedBy === null ? 'another process' : `another process (${claimedBy})`;
  if (claimedBy !== null && isGone(claimedBy))
    return `${stream}: sweep ${sweepId} was begun by a process that is gone (${claimedBy}); it goes on here in ${left} at most`;
  return `${stream}: waiting for ${holder}, which has sweep ${sweepId} under way; if that process is gone, the sweep goes on here in ${left} at most`;
}
