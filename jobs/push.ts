import {z} from 'zod';
import {pushAccount} from '../src/sync/push/push.ts';
import type {PushDeps} from '../src/sync/push/push-deps.ts';
import type {BellQueue} from './backend.ts';

export const queueName = 'push';

export const payloadSchema = z.object({accountId: z.string().regex(/^\d+$/)});

/** Retries are counted in the rows, so the queue makes none and keeps nothing. */
const options = {attempts: 1, removeOnComplete: true, removeOnFail: true} as const;
/** Rings within so long count as one: a transaction of a thousand changes rings once. */
const ringAgainMs = 250;

/** Carries what is due of one account. Running it twice, or in two places, sends nothing twice. */
export async function run(deps: PushDeps, accountId: string, signal: AbortSignal): Promise<void> {
  const counts = await pushAccount(deps, accountId, signal);
  const carried = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (carried === 0) return;
  const level = counts.rejected + counts.conflict > 0 ? 'warn' : 'info';
  deps.log[level]({accountId, ...counts}, 'changes were carried');
}

/** Rings for accounts that have changes to carry; a ring too many finds nothing due. */
export async function ring(queue: BellQueue, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length === 0) return;
  const again = Math.floor(Date.now() / ringAgainMs);
  await queue.addBulk(
    accountIds.map((accountId) => ({
      name: queueName,
      data: {accountId},
      opts: {...options, jobId: `push-${accountId}-${again}`},
    })),
  );
}
