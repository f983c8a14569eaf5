import {z} from 'zod';
import type {DueAccount} from '../src/changes/claim-changes.ts';
import {pushAccount} from '../src/push/push.ts';
import type {Carried, PushCounts, PushDeps} from '../src/push/push-deps.ts';
import {reportChange, reportPush} from './report-outcome.ts';
import {queueNames, type WakeQueue, wakeOptions} from './wake-queue.ts';

export const payloadSchema = z.object({accountId: z.string().regex(/^\d+$/)});

/**
 * Wake-ups within so long count as one. A dead worker's queue job stays a minute; later ones still
 * count.
 */
const wakeAgainMs = 250;

/**
 * Carries the due changes of one account. Running it twice, or in two places, sends nothing twice.
 * @returns the counts, which are the result of the queue's job, too
 */
export async function run(
  deps: PushDeps,
  accountId: string,
  signal: AbortSignal,
): Promise<PushCounts> {
  let account = accountId;
  const onCarried = (carried: Carried) => {
    account = carried.change.accountName;
    reportChange(deps.log, carried);
  };
  const counts = await pushAccount({...deps, onCarried}, accountId, signal);
  reportPush(deps.log, account, counts);
  return counts;
}

/**
 * Wakes a worker for each account that has changes to carry. A wake-up that counts as one with a
 * running job follows it: a change committed after that job's last look is not left to the poller.
 * A wake-up too many finds nothing due.
 */
export async function wake(queue: WakeQueue, accounts: readonly DueAccount[]): Promise<void> {
  if (accounts.length === 0) return;
  const again = Math.floor(Date.now() / wakeAgainMs);
  await queue.addBulk(
    accounts.map(({accountId, name}) => ({
      name: queueNames.pushes,
      data: {accountId, account: name},
      opts: {
        ...wakeOptions,
        deduplication: {id: `push-${accountId}-${again}`, keepLastIfActive: true},
      },
    })),
  );
}
