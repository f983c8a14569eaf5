import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import type {Work} from './push-worker.ts';

const clockFile = pathToFileURL(
  join(import.meta.dirname, '..', '..', 'support', 'wrong-clock.ts'),
).href;
const workerFile = join(import.meta.dirname, 'push-worker.ts');

/**
 * Carries due changes in a process of its own.
 * @param clockOffMs - how far that process' clock is from ours
 * @returns whether it was killed on the way
 */
export async function carryAndDie(work: Work, clockOffMs = 0): Promise<boolean> {
  const [, signal] = await once(carryElsewhere(work, clockOffMs), 'exit');
  return signal === 'SIGKILL';
}

/** Does the same, and leaves the process to the caller. */
export function carryElsewhere(work: Work, clockOffMs = 0): ChildProcess {
  return spawn(process.execPath, ['--import', clockFile, workerFile], {
    env: {
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
      WORK: JSON.stringify(work),
      CLOCK_OFF_MS: String(clockOffMs),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}
