import {watchProgress} from '../../src/cli/progress.ts';
import {watchSweeps} from '../../src/cli/sync.ts';
import {requestSweep, type Sweep} from '../../src/sweeps/sweeps.ts';
import type {TestWorld} from './world.ts';

const longestMs = 90_000;

/**
 * Asks for a full sweep of each stream at once, and waits until workers have brought them to their
 * ends.
 */
export async function endSweeps(
  {pool, databaseUrl, account: {accountId}}: Pick<TestWorld, 'pool' | 'databaseUrl' | 'account'>,
  streams: readonly string[],
): Promise<Sweep[]> {
  const asked = streams.map((stream) =>
    requestSweep(pool, {accountId, stream, mode: 'full', requestedBy: 'command'}),
  );
  const sweepIds = (await Promise.all(asked)).map(({sweepId}) => sweepId);
  const watch = {progress: watchProgress(true), signal: AbortSignal.timeout(longestMs)};
  return await watchSweeps({pool, databaseUrl}, sweepIds, watch);
}
