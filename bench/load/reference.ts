// The reference program of `bench/reference`: what speed alone allows. It is built by cargo, where
// that is installed and finds its packages.

import {type ExecFileException, execFile} from 'node:child_process';
import {join} from 'node:path';
import {promisify} from 'node:util';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '..', 'reference');
/** A build takes one or two minutes. */
const mostMs = 5 * 60_000;

/** @returns its path; null where it cannot be built, which is said */
export async function buildReference(): Promise<string | null> {
  try {
    await run('cargo', ['build', '--release', '--locked', '--quiet', '--target-dir', 'target'], {
      cwd: folder,
      timeout: mostMs,
    });
    return join(folder, 'target', 'release', 'reference');
  } catch (error) {
    process.stdout.write(
      `the reference program is left out, with every ratio to it: ${describeFailure(error)}\n`,
    );
    return null;
  }
}

function describeFailure(error: unknown): string {
  const {code, killed, stderr} = error as ExecFileException & {readonly stderr?: string};
  if (code === 'ENOENT') return 'cargo is not installed';
  if (killed === true) return `cargo took more than ${mostMs / 60_000} minutes`;
  return `cargo failed: ${stderr?.trim() ?? String(error)}`;
}
