// What is put on the queue: it wakes a worker for due sweeps, or for due changes of an account.

import type {Queue} from 'bullmq';
import type {DueAccount} from '../src/changes/claim-changes.ts';
import type {DueSweep} from '../src/sweeps/sweeps.ts';

/** The queues, by the reason to wake a worker: a sweep, the changes of an account. */
export const queueNames = {sweeps: 'sweep', pushes: 'push'} as const;

/** The part of BullMQ's queue that we use, with either backend. */
export type WakeQueue = Pick<Queue, 'addBulk' | 'waitUntilReady' | 'close'>;

/**
 * Retries are counted in the rows, so the queue makes none. A job that has ended stays for a day,
 * so that bull-board and BullMQ's own metrics show the runs; BullMQ removes older jobs when a later
 * one ends.
 */
export const wakeOptions = {
  attempts: 1,
  removeOnComplete: {age: 86_400, count: 1_000},
  removeOnFail: {age: 86_400, count: 1_000},
} as const;

export interface WakeWorker {
  waitUntilReady(): Promise<unknown>;
  close(force?: boolean): Promise<void>;
}

const wakeSweepAgainMs = 10_000;

/**
 * Wakes a worker for each sweep that is due. Another wake-up counts only after a while: the queue
 * job of a worker that died holding it stays locked for a minute, and must not keep the next one
 * out. A wake-up too many finds nothing due. Windows and single records come before full sweeps,
 * however many of those wait.
 */
export async function wakeSweeps(queue: WakeQueue, due: readonly DueSweep[]): Promise<void> {
  if (due.length === 0) return;
  const again = Math.floor(Date.now() / wakeSweepAgainMs);
  await queue.addBulk(
    due.map((sweep) => ({
      name: queueNames.sweeps,
      data: dataOf(sweep),
      opts: {
        ...wakeOptions,
        deduplication: {id: `sweep-${sweep.sweepId}-${sweep.fence}-${again}`},
        ...(sweep.mode === 'full' ? {priority: 1} : {}),
      },
    })),
  );
}

/** A worker reads the two ids; the rest is for people who look at the queue. */
function dataOf({
  sweepId,
  accountId,
  accountName,
  stream,
  mode,
  windowName,
  recordNumber,
  failures,
}: DueSweep) {
  return {
    ...{sweepId, accountId, account: accountName, stream, mode, attempt: failures + 1},
    ...(windowName === null ? {} : {window: windowName}),
    ...(recordNumber === null ? {} : {record: recordNumber}),
  };
}

/**
 * Wake-ups within so long count as one. A dead worker's queue job stays a minute; later ones still
 * count.
 */
const wakePushAgainMs = 250;

/**
 * Wakes a worker for each account that has changes to carry. A wake-up that counts as one with a
 * running job follows it: a change committed after that job's last look is not left to the poller.
 * A wake-up too many finds nothing due.
 */
export async function wakePushes(queue: WakeQueue, accounts: readonly DueAccount[]): Promise<void> {
  if (accounts.length === 0) return;
  const again = Math.floor(Date.now() / wakePushAgainMs);
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
