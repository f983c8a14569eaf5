import {AccessError} from '../../base/errors.ts';
import {readRules} from '../../warehouse/changes/write-rules.ts';
import {Claims} from './claims.ts';
import {giveBackFailed} from './end/give-back.ts';
import {bringTogether, pushChange} from './push-change.ts';
import type {PushCounts, PushDeps} from './push-deps.ts';

/** The account's own measure says how many requests run at once; so many changes are in hand for it. */
const inHand = 128;

/**
 * Carries every change of an account that is due, those of one record in order, those of different records beside each
 * other, and returns when nothing is due any more. Any number of processes may do it at once.
 * @param signal - aborts at shutdown: nothing new is begun, and what was cut off while it was sent is in doubt
 */
export async function pushAccount(
  deps: PushDeps,
  accountId: string,
  signal: AbortSignal,
): Promise<PushCounts> {
  const rules = await readRules(deps.pool);
  const counts = {done: 0, rejected: 0, conflict: 0, postponed: 0, inDoubt: 0};
  const stopping = new AbortController();
  const claims = new Claims(deps, accountId, {inHand, signal: AbortSignal.any([signal, stopping.signal])});
  const together = bringTogether(deps, accountId, {rules, signal});
  const work = async () => {
    for (let held = await claims.next(); held !== null; held = await claims.next()) {
      const {change} = held;
      const end = await pushChange(deps, held, together).catch(async (error: unknown) => {
        if (error instanceof AccessError) stopping.abort();
        return await giveBackFailed(deps, change, {error, isShutdown: signal.aborted});
      });
      counts[end === 'in_doubt' ? 'inDoubt' : end]++;
      claims.end(held);
    }
  };
  // One that cannot go on stops the others from taking more, and nobody is left behind at work.
  const lanes = Array.from({length: inHand}, () =>
    work().catch((error: unknown) => {
      stopping.abort();
      throw error;
    }),
  );
  const ends = await Promise.allSettled(lanes);
  await claims.close();
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return counts;
}
