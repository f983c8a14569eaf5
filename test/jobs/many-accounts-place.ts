// Many accounts at one worker, made anew for each test of a file that uses it.

import {afterEach, beforeEach, expect, inject} from 'vitest';
import type {QueueBackend} from '../../jobs/queue.ts';
import {startWorkers, type WorkerOptions, type Workers} from '../../jobs/workers.ts';
import {type ManyAccounts, openManyAccounts} from './many-accounts.ts';

export const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
export const endedWell = expect.stringMatching(/certified/);
export const closers: (() => Promise<void>)[] = [];
export let many: ManyAccounts;

/** Makes the place for each test of the file that calls this. */
export function useManyAccounts(): void {
  beforeEach(async () => {
    many = await openManyAccounts();
    closers.push(many.close);
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
}

export async function start(
  backend: QueueBackend,
  options: Partial<WorkerOptions> = {},
): Promise<Workers> {
  const workers = await startWorkers(many.deps, backend, {
    accountIds: many.accountIds,
    keepsSchedules: false,
    ...options,
  });
  closers.push(workers.stop);
  return workers;
}

export const told = (word: RegExp) => many.lines.filter(({msg}) => word.test(msg));
