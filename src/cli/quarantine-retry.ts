// The verb `quarantine retry`: another try to read a record, by its number.

import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import type {Sweep} from '../sweeps/sweep.ts';
import {chooseAccount, requireActive} from './choose-account.ts';
import {watchProgress} from './progress.ts';
import {type Entry, findEntry} from './quarantine.ts';
import {print} from './report.ts';
import {requireOpened} from './served-accounts.ts';
import {runHere} from './sync.ts';
import {askForSweep, watchSweeps} from './watch-sweeps.ts';
import {withWorld} from './world.ts';
import {wrap} from './wrap-text.ts';

/** The outcome of another try. */
interface Retried {
  readonly quarantineId: string;
  readonly outcome: 'read' | 'gone' | 'still-bad' | 'not-answered';
  readonly reason: string | null;
}

type Numbered = Entry & {readonly number: string};

/**
 * Asks for records by their numbers now, in this process.
 * @returns the exit code: 1 when one of them still cannot be read
 * @throws {UsageError} there is no such entry, or it has no number to ask by
 */
export async function retry(
  config: Config,
  ids: readonly string[],
  {json, signal}: {readonly json: boolean; readonly signal: AbortSignal},
): Promise<number> {
  return await withWorld(
    config,
    async (world) => {
      const entries: Numbered[] = [];
      for (const id of ids) entries.push(requireNumber(await findEntry(world.pool, id)));
      for (const name of new Set(entries.map(({account}) => account)))
        await requireOpened(world, requireActive(await chooseAccount(world, name)));
      const progress = watchProgress(json);
      const watch = {progress, signal, run: runHere(world, signal)};
      const retried: Retried[] = [];
      for (const {quarantineId, accountId, stream, number} of entries) {
        const asked = {accountId, stream, mode: 'record', recordNumber: number} as const;
        const sweeps = await watchSweeps(world, [await askForSweep(world, asked, progress)], watch);
        retried.push(tellRetried(await findEntry(world.pool, quarantineId), sweeps[0]));
      }
      progress.close();
      print(json, {json: {retried}, text: retried.map(drawRetried).join('\n')});
      return retried.every(({outcome}) => outcome === 'read' || outcome === 'gone') ? 0 : 1;
    },
    {signal},
  );
}

function requireNumber(entry: Entry): Numbered {
  const {number, quarantineId, stream} = entry;
  if (number !== null) return {...entry, number};
  throw new UsageError(
    `quarantine ${quarantineId}: its number could not be read, so that nobody can ask for it; fieldmirror sync ${stream} reads the whole list`,
  );
}

function tellRetried(entry: Entry, sweep: Sweep | undefined): Retried {
  const {quarantineId, resolvedAt, reason, sweepId} = entry;
  if (resolvedAt !== null) {
    const absent = sweep?.evidence.absent;
    if (absent === undefined) return {quarantineId, outcome: 'read', reason: null};
    return {
      quarantineId,
      outcome: 'gone',
      reason: `the service said ${absent.status} "${absent.words}"`,
    };
  }
  if (sweepId === sweep?.sweepId) return {quarantineId, outcome: 'still-bad', reason};
  return {quarantineId, outcome: 'not-answered', reason: sweep?.error ?? null};
}

const outcomes: Readonly<Record<Retried['outcome'], string>> = {
  read: 'it was read, and is in the warehouse',
  gone: 'it is gone at the service',
  'still-bad': 'it still cannot be read',
  'not-answered': 'the service gave no answer',
};

function drawRetried({quarantineId, outcome, reason}: Retried): string {
  return wrap(
    `quarantine ${quarantineId}: ${outcomes[outcome]}${reason === null ? '' : `: ${reason}`}`,
  );
}
