import {run as runSweep} from '../../jobs/sweep.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {tellAside} from '../core/text.ts';
import {allStreams, findStream} from '../streams/all.ts';
import type {Stream} from '../streams/stream.ts';
import {nameWindow} from '../streams/windows.ts';
import type {Sweep} from '../sweeps/sweep.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import type {SweepRequest} from '../sweeps/sweeps.ts';
import {chooseAccount, requireActive} from './choose-account.ts';
import {watchProgress} from './progress.ts';
import {print} from './report.ts';
import {requireOpened} from './served-accounts.ts';
import {drawSummary, exitCodeOf, summarise} from './sweep-summary.ts';
import {askForSweep, watchSweeps} from './watch-sweeps.ts';
import {withWorld} from './world.ts';

export interface SyncOptions {
  /** A window's name, or a filter as `name=value`. */
  readonly window?: string;
  /** More filters; all of them hold. */
  readonly filter?: readonly string[];
  readonly record?: string;
  readonly account?: string;
  readonly json: boolean;
}

/**
 * Sweeps now, in this process, without the queue; a sweep that a worker has under way is waited
 * for.
 * @param names - streams; none means all
 * @returns the exit code
 * @throws {UsageError} an unknown stream, window, filter or number
 */
export async function sync(
  config: Config,
  names: readonly string[],
  run: SyncOptions & {signal: AbortSignal},
): Promise<number> {
  const streams = chooseStreams(names, run);
  return await withWorld(
    config,
    async (world) => {
      const account = requireActive(await chooseAccount(world, run.account));
      await requireOpened(world, account);
      const {accountId} = account;
      // Without a name the environment's account is meant, which a person who has several may not
      // think of.
      if (run.account === undefined && !run.json && (await world.listKnown()).length > 1)
        tellAside(`of account ${account.name}; --account NAME sweeps another one\n`);
      const progress = watchProgress(run.json);
      const runOne = runHere({...world, onProgress: progress.advance}, run.signal);
      const sweeps: Sweep[] = [];
      for (const stream of streams) {
        const asked = {...kindOf(stream, run), accountId, stream: stream.name};
        const sweepId = await askForSweep(world, asked, progress);
        sweeps.push(
          ...(await watchSweeps(world, [sweepId], {progress, signal: run.signal, run: runOne})),
        );
      }
      progress.close();
      const summaries = await summarise(world, sweeps);
      print(run.json, {json: {streams: summaries}, text: `\n${drawSummary(summaries)}`});
      return exitCodeOf(summaries);
    },
    {signal: run.signal},
  );
}

/** Carries a sweep here, unless a worker has it; takes it over if that worker fails. */
export function runHere(deps: SweepDeps, signal: AbortSignal): (sweepId: string) => Promise<void> {
  return async (sweepId) => {
    await runSweep(deps, sweepId, {signal, isWatched: true});
  };
}

function chooseStreams(names: readonly string[], run: SyncOptions): readonly Stream[] {
  const streams = names.length === 0 ? allStreams : names.map(findStream);
  checkRecord(names, run);
  for (const stream of streams) kindOf(stream, run);
  return streams;
}

function checkRecord(names: readonly string[], {record, ...run}: SyncOptions): void {
  if (record === undefined) return;
  if (termsOf(run).length > 0)
    throw new UsageError('sync: expected --window and --filter, or --record, got both');
  if (names.length !== 1)
    throw new UsageError(
      `sync: --record needs one stream, got ${names.length}: sync jobs --record 4711`,
    );
  if (!/^[1-9]\d{0,17}$/.test(record))
    throw new UsageError(`sync: --record: expected a number, got "${record}"`);
}

/** @throws {UsageError} the stream has no such window or filter */
function kindOf(
  stream: Stream,
  run: SyncOptions,
): Pick<SweepRequest, 'mode' | 'windowName' | 'recordNumber'> {
  const terms = termsOf(run);
  if (terms.length > 0) return {mode: 'window', windowName: nameWindow(stream, terms)};
  const {record} = run;
  return record === undefined ? {mode: 'full'} : {mode: 'record', recordNumber: record};
}

function termsOf({window, filter = []}: Pick<SyncOptions, 'window' | 'filter'>): readonly string[] {
  const bare = filter.find((term) => !term.includes('='));
  if (bare !== undefined)
    throw new UsageError(`sync: --filter: expected name=value, got "${bare}"`);
  return [...(window === undefined ? [] : [window]), ...filter];
}
