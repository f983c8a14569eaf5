import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Work} from './push-worker.ts';

const workerFile = join(import.meta.dirname, 'push-worker.ts');

/** Carries what is due in a process of its own. @returns whether it was killed on the way */
export async function carryAndDie(work: Work): Promise<boolean> {
  const worker = spawn(process.execPath, [workerFile], {
    env: {
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
      WORK: JSON.stringify(work),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [, signal] = await once(worker, 'exit');
  return signal === 'SIGKILL';
}
