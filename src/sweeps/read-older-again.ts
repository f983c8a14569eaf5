import {OlderReadingError} from '../core/errors.ts';
import {askNumbers, type KeepGone} from './ask-numbers.ts';
import {leaveOlder, readOlder} from './older-readings.ts';
import type {SweepRun} from './sweep-run.ts';

const firstPauseMs = 2_000;
const longestPauseMs = 20_000;

/**
 * Asks by number for the records that this sweep was shown as they were before a change of ours.
 * @throws {OlderReadingError} some are still shown so: the sweep goes on after a pause, longer each
 *   time
 */
export async function readOlderAgain(run: SweepRun, keepGone: KeepGone): Promise<void> {
  const {deps, sweep} = run;
  const noted = await readOlder(deps.pool, sweep.sweepId);
  if (noted === null) return;
  const numbers: string[] = [];
  for await (const {older} of askNumbers(run, noted.numbers, keepGone)) numbers.push(...older);
  await leaveOlder(deps.pool, sweep.sweepId, {...noted, numbers});
  if (numbers.length > 0) await pauseForNewer(run);
}

/**
 * Gives the sweep back for a while, because of the records that are noted in it.
 * @throws {OlderReadingError} always
 */
export async function pauseForNewer({deps, sweep, stream}: SweepRun): Promise<never> {
  const {numbers, pauses} = (await readOlder(deps.pool, sweep.sweepId)) ?? {numbers: [], pauses: 0};
  await leaveOlder(deps.pool, sweep.sweepId, {numbers, pauses: pauses + 1});
  const retryAfterMs = Math.min(firstPauseMs * 2 ** pauses, longestPauseMs);
  throw new OlderReadingError(
    `the service still shows ${numbers.length} of the ${stream.name} as before a change of ours that it has confirmed: they are read again`,
    {retryAfterMs},
  );
}
