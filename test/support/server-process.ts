// Servers that a test starts as programs, beside Postgres.

import {type ChildProcess, execFileSync} from 'node:child_process';

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const server of running) server.kill('SIGKILL');
});

/** Kills a server should this process end before its tests do. */
export function tie<T extends ChildProcess>(server: T): T {
  running.add(server);
  server.once('exit', () => running.delete(server));
  return server;
}

/** Resolves when a server has ended, killed now or before. */
export async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((done) => server.once('exit', done));
  server.kill('SIGKILL');
  await ended;
}

/** @param env - its PATH is searched */
export function isOnPath(
  program: string,
  env: NodeJS.ProcessEnv = process.env,
  asked = '--version',
): boolean {
  try {
    execFileSync(program, [asked], {stdio: 'ignore', env});
    return true;
  } catch {
    return false;
  }
}
