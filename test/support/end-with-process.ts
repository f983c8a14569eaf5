import {readFileSync, rmSync} from 'node:fs';
import {constants} from 'node:os';
import {join} from 'node:path';

const signals = ['SIGINT', 'SIGTERM'] as const;
const looks = 100;
const betweenLooksMs = 50;
const tick = new Int32Array(new SharedArrayBuffer(4));

/**
 * Kills the Postgres of a folder and removes the folder, should this process end before its set-up
 * does. A signal ends the process, unless somebody else listens for it.
 * @param home - the folder that holds `postgres`
 * @returns takes it back
 */
export function endWithProcess(home: string): () => void {
  const kill = () => killPostgres(home);
  const leave = (signal: (typeof signals)[number]) => {
    if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
  };
  process.on('exit', kill);
  for (const signal of signals) process.on(signal, leave);
  return () => {
    process.off('exit', kill);
    for (const signal of signals) process.off(signal, leave);
  };
}

/**
 * At the exit of a process no promise is kept: SIGQUIT ends the server and its sessions at once,
 * and is waited for.
 */
function killPostgres(home: string): void {
  const pid = readPid(home);
  if (pid !== null) process.kill(pid, 'SIGQUIT');
  for (let look = 0; look < looks && readPid(home) !== null; look++)
    Atomics.wait(tick, 0, 0, betweenLooksMs);
  rmSync(home, {recursive: true, force: true});
}

/** @returns null where no server runs in the folder */
function readPid(home: string): number | null {
  try {
    const [pid] = readFileSync(join(home, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 0);
    return Number(pid);
  } catch {
    return null;
  }
}
