import type {ClaimedChange} from '../changes/claim-changes.ts';
import {readRules} from '../changes/write-rules.ts';
import {AccessError} from '../core/errors.ts';
import {inSpan} from '../core/span.ts';
import {Claims} from './claims.ts';
import {giveBackFailed} from './give-back.ts';
import {bringTogether, pushChange} from './push-change.ts';
import type {PushCounts, PushDeps} from './push-deps.ts';
import {watchPause} from './watch-pause.ts';

/**
 * How many changes are in hand at once; the account's own measure decides how many of their
 * requests run.
 */
const inHand = 128;

/**
 * Carries every due change of an account: changes of one record in order, changes of different
 * records beside each other. Returns when no change is due any more. Any number of processes may do
 * it at once. Once the account is paused, changes that were not sent are given back.
 * @param signal - aborts at shutdown: no change is begun, and a change cut off while it was sent is
 *   in doubt
 */
export async function pushAccount(
  deps: PushDeps,
  accountId: string,
  signal: AbortSignal,
): Promise<PushCounts> {
  const rules = await readRules(deps.pool);
  const counts = {done: 0, rejected: 0, conflict: 0, postponed: 0, inDoubt: 0};
  const stopping = new AbortController();
  const {paused, close} = watchPause(deps, accountId);
  const claims = new Claims(deps, accountId, {
    inHand,
    signal: AbortSignal.any([signal, stopping.signal, paused]),
  });
  const together = bringTogether(deps, accountId, {rules, signal, paused});
  const work = async () => {
    for (let held = await claims.next(); held !== null; held = await claims.next()) {
      const {change} = held;
      const end = await inSpan('change', attributesOf(change), async (note) => {
        const reached = await pushChange(deps, held, together).catch(async (error: unknown) => {
          if (error instanceof AccessError) stopping.abort();
          return await giveBackFailed(deps, change, {
            error,
            isShutdown: signal.aborted || paused.aborted,
          });
        });
        note({'fieldmirror.outcome': reached});
        return reached;
      });
      counts[end === 'in_doubt' ? 'inDoubt' : end]++;
      deps.onCarried?.({change, end, durationMs: Math.round(performance.now() - held.claimedMs)});
      claims.end(held);
    }
  };
  // A lane that cannot go on stops the others from taking more changes, and all lanes are waited
  // for.
  const lanes = Array.from({length: inHand}, () =>
    work().catch((error: unknown) => {
      stopping.abort();
      throw error;
    }),
  );
  const ends = await Promise.allSettled(lanes);
  close();
  await claims.close();
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return counts;
}

function attributesOf({accountName, table, operation, changeId}: ClaimedChange) {
  return {
    'fieldmirror.account': accountName,
    'fieldmirror.table': table,
    'fieldmirror.operation': operation,
    'fieldmirror.change': changeId,
  };
}
