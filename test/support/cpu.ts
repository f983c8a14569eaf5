import {existsSync, readFileSync} from 'node:fs';

/**
 * The CPU time that work takes in this process, in milliseconds: what else a busy machine does
 * meanwhile does not count.
 */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const {user, system} = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Seconds on a CPU of a session of Postgres, where the system tells them; else those that pass. */
export function clockOf(pid: number): () => number {
  const told = `/proc/${pid}/schedstat`;
  if (!existsSync(told)) return () => performance.now() / 1000;
  return () => Number(readFileSync(told, 'utf8').split(' ')[0]) / 1e9;
}
