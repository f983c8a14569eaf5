import {hostname} from 'node:os';

/** This process, for a person on any machine: `db1, pid 4711`. */
export function nameThisProcess(): string {
  return nameOf(process.pid);
}

/**
 * Whether a process is known to be gone: it ran on this machine, and is no more. Of others nothing
 * is known.
 * @param name - as `nameThisProcess` gives it
 */
export function isGone(name: string): boolean {
  const pid = Number(/, pid (\d+)$/.exec(name)?.[1]);
  if (!Number.isSafeInteger(pid) || name !== nameOf(pid)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

function nameOf(pid: number): string {
  return `${hostname()}, pid ${pid}`;
}
