import {readFileSync, statSync} from 'node:fs';
import {UsageError} from './errors.ts';

/**
 * Reads a file that holds a secret.
 * @throws {UsageError} others may read it, or we may not. Windows tells no such thing of a file
 */
export function readPrivateFile(path: string): string {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
    const got = mode.toString(8).padStart(4, '0');
    throw new UsageError(
      `expected a file that only its owner can read, got mode ${got} of ${path}: chmod 600 ${path}`,
    );
  }
  return readFileSync(path, 'utf8').trim();
}
