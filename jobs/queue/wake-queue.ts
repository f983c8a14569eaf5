import type {Queue} from 'bullmq';

/** The queues, by the reason to wake a worker: a sweep, the changes of an account. */
export const queueNames = {sweeps: 'sweep', pushes: 'push'} as const;

/** The part of BullMQ's queue that we use, with either backend. */
export type WakeQueue = Pick<Queue, 'addBulk' | 'waitUntilReady' | 'close'>;
export interface WakeWorker {
  waitUntilReady(): Promise<unknown>;
  close(force?: boolean): Promise<void>;
}
