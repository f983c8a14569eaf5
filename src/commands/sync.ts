import {setTimeout as wait} from 'node:timers/promises';
import {reportOutcome} from '../../jobs/outcome.ts';
import type {Config} from '../config.ts';
import {UsageError} from '../errors.ts';
import {allStreams, findStream} from '../streams/all.ts';
import type {Stream} from '../streams/stream.ts';
import {runSweep} from '../sync/sweep.ts';
import type {SweepDeps} from '../sync/sweep-deps.ts';
import {countRows} from '../warehouse/status.ts';
import type {Sweep} from '../warehouse/sweep.ts';
import {readSweep, requestSweep, type SweepRequest} from '../warehouse/sweeps.ts';
import {chooseAccount, requireActive} from './choose-account.ts';
import {nearest} from './nearest.ts';
import {type Progress, watchProgress} from './progress.ts';
import {print} from './report.ts';
import {describeEnd, drawSummary, exitCodeOf, summarise} from './sweep-summary.ts';
import {withWorld} from './world.ts';

const lookEveryMs = 500;

export interface SyncOptions {
  readonly window?: string;
  readonly record?: string;
  readonly account?: string;
  readonly json: boolean;
}

/**
 * Sweeps now, in this process, without the queue; a sweep that a worker has under way is waited for.
 * @param names - streams; none means all
 * @returns the exit code
 * @throws {UsageError} an unknown stream, window or number
 */
export async function sync(
  config: Config,
  names: readonly string[],
  run: SyncOptions & {signal: AbortSignal},
): Promise<number> {
  const streams = chooseStreams(names, run);
  return await withWorld(config, async (world) => {
    const {accountId} = requireActive(await chooseAccount(world, run.account));
    const progress = watchProgress(run.json);
    const deps: SweepDeps = {...world, onProgress: progress.advance};
    const sweeps: Sweep[] = [];
    for (const stream of streams) {
      progress.begin(stream.name, await countRows(world.pool, stream.table, accountId));
      const asked = {...kindOf(run), accountId, stream: stream.name, requestedBy: 'command'} as const;
      const {sweepId} = await requestSweep(world.pool, asked);
      sweeps.push(await carryToEnd(deps, sweepId, {progress, signal: run.signal}));
    }
    progress.close();
    const summaries = await summarise(world, sweeps);
    print(run.json, {json: {streams: summaries}, text: `\n${drawSummary(summaries)}`});
    return exitCodeOf(summaries);
  });
}

/** Carries the sweep here, or waits for whoever has it; takes it over should they fail. */
async function carryToEnd(
  deps: SweepDeps,
  sweepId: string,
  watch: {readonly progress: Progress; readonly signal: AbortSignal},
): Promise<Sweep> {
  for (;;) {
    const result = await runSweep(deps, sweepId, watch.signal);
    const sweep = await readSweep(deps.pool, sweepId);
    if (sweep !== null && sweep.endedAt !== null) {
      watch.progress.end(sweep.stream, describeEnd(sweep));
      return sweep;
    }
    if (result.outcome === 'postponed') reportOutcome(deps.log, sweepId, result);
    const delayMs = result.outcome === 'postponed' ? result.delayMs : lookEveryMs;
    await wait(delayMs, undefined, {signal: watch.signal});
  }
}

function chooseStreams(names: readonly string[], run: SyncOptions): readonly Stream[] {
  const known = allStreams.map((stream) => stream.name);
  for (const name of names) {
    if (!known.some((stream) => stream === name))
      throw new UsageError(`sync: no stream "${name}"${nearest(name, known)}; there are ${known.join(', ')}`);
  }
  const streams = names.length === 0 ? allStreams : names.map(findStream);
  checkWindow(streams, run);
  checkRecord(names, run);
  return streams;
}

function checkWindow(streams: readonly Stream[], {window}: SyncOptions): void {
  if (window === undefined) return;
  for (const {name, windows} of streams) {
    const known = Object.keys(windows);
    if (known.includes(window)) continue;
    const choice = known.length > 0 ? `there are ${known.join(', ')}` : 'it has none';
    throw new UsageError(`sync: ${name} has no window "${window}"${nearest(window, known)}; ${choice}`);
  }
}

function checkRecord(names: readonly string[], {window, record}: SyncOptions): void {
  if (record === undefined) return;
  if (window !== undefined) throw new UsageError('sync: expected --window or --record, got both');
  if (names.length !== 1)
    throw new UsageError(`sync: --record needs one stream, got ${names.length}: sync jobs --record 4711`);
  if (!/^[1-9]\d{0,17}$/.test(record))
    throw new UsageError(`sync: --record: expected a number, got "${record}"`);
}

function kindOf({window, record}: SyncOptions): Pick<SweepRequest, 'mode' | 'windowName' | 'recordNumber'> {
  if (window !== undefined) return {mode: 'window', windowName: window};
  return record === undefined ? {mode: 'full'} : {mode: 'record', recordNumber: record};
}
