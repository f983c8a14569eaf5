// The reference program of `bench/reference`: what speed alone allows. It is built by cargo, where
// that is installed and finds its packages.

import {execFile} from 'node:child_process';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';

const run = promisify(execFile);
const source = join(import.meta.dirname, '..', 'reference', 'Cargo.toml');

/** @returns its path; null where it cannot be built, which is said */
export async function buildReference(): Promise<string | null> {
  const folder = join(tmpdir(), 'fieldmirror-bench', 'reference');
  const how = ['build', '--release', '--locked', '--quiet', '--manifest-path', source];
  try {
    await run('cargo', [...how, '--target-dir', folder]);
    return join(folder, 'release', 'reference');
  } catch (error) {
    const {code, stderr = ''} = error as NodeJS.ErrnoException & {stderr?: string};
    const reason = code === 'ENOENT' ? 'cargo is not installed' : `cargo failed: ${stderr.trim()}`;
    process.stdout.write(`the reference program is left out, with every ratio to it: ${reason}\n`);
    return null;
  }
}
