import type {Queue} from 'bullmq';

/** The queues, by what wakes: a worker for a sweep, for a schedule, for the changes of an account. */
export const queueNames = {sweeps: 'sweep', schedules: 'schedule', pushes: 'push'} as const;

/** The part of BullMQ's queue that we use, whatever is behind it. */
export type WakeQueue = Pick<
  Queue,
  | 'addBulk'
  | 'upsertJobScheduler'
  | 'removeJobScheduler'
  | 'getJobSchedulers'
  | 'getJobSchedulersCount'
  | 'waitUntilReady'
  | 'close'
>;
export interface WakeWorker {
  waitUntilReady(): Promise<unknown>;
  close(force?: boolean): Promise<void>;
}
