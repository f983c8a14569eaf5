import {reportOutcome} from '../../jobs/outcome.ts';
import type {Config} from '../config.ts';
import {UsageError} from '../errors.ts';
import {nearest} from '../nearest.ts';
import {allStreams, findStream} from '../streams/all.ts';
import type {Stream} from '../streams/stream.ts';
import {runSweep} from '../sync/sweep.ts';
import type {SweepDeps} from '../sync/sweep-deps.ts';
import type {Sweep} from '../warehouse/sweep.ts';
import type {SweepRequest} from '../warehouse/sweeps.ts';
import {chooseAccount, requireActive} from './choose-account.ts';
import {watchProgress} from './progress.ts';
import {print} from './report.ts';
import {requireOpened} from './served-accounts.ts';
import {drawSummary, exitCodeOf, summarise} from './sweep-summary.ts';
import {askForSweep, watchSweeps} from './watch-sweeps.ts';
import {withWorld} from './world.ts';

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
    const account = requireActive(await chooseAccount(world, run.account));
    await requireOpened(world, account);
    const {accountId} = account;
    const progress = watchProgress(run.json);
    const carry = carryHere({...world, onProgress: progress.advance}, run.signal);
    const sweeps: Sweep[] = [];
    for (const {name: stream} of streams) {
      const sweepId = await askForSweep(world, {...kindOf(run), accountId, stream}, progress);
      sweeps.push(...(await watchSweeps(world, [sweepId], {progress, signal: run.signal, carry})));
    }
    progress.close();
    const summaries = await summarise(world, sweeps);
    print(run.json, {json: {streams: summaries}, text: `\n${drawSummary(summaries)}`});
    return exitCodeOf(summaries);
  });
}

/** Carries a sweep here, unless a worker has it; takes it over should they fail. */
export function carryHere(deps: SweepDeps, signal: AbortSignal): (sweepId: string) => Promise<void> {
  return async (sweepId) => {
    const result = await runSweep(deps, sweepId, signal);
    if (result.outcome === 'postponed') reportOutcome(deps.log, sweepId, result);
  };
}

function chooseStreams(names: readonly string[], run: SyncOptions): readonly Stream[] {
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
