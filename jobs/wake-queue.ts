import type {Queue} from 'bullmq';

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
