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
