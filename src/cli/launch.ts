// What is done before all other code is loaded. Nothing but Node is imported: no package may be
// there.

import {dirname, join} from 'node:path';
import {packageRoot} from '../core/package.ts';

// How the C library of Linux hands memory back. By default it raises its own limits as large
// buffers come and go, and then keeps the memory freed: a process at work for half an hour held 170
// MB that nothing used, and went on growing. With fixed limits large buffers go back at once. The
// library reads them once, when a process begins, so the process begins anew.

/** The limits, as the C library reads them from the environment. */
export const allocatorLimits = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const;

/** Verbs whose processes live for weeks; for the others beginning anew is not worth its time. */
const lasting: ReadonlySet<string | undefined> = new Set(['start', 'http', 'service']);

/**
 * Gives the process to the same program with fixed limits, under the same number. Where a limit is
 * set already, the process stays as it is.
 */
export function fixAllocator(args: readonly string[]): void {
  const verb = args.find((word) => !word.startsWith('-'));
  const isSet = Object.keys(allocatorLimits).some((name) => process.env[name] !== undefined);
  if (process.platform !== 'linux' || isSet || !lasting.has(verb) || process.execve === undefined)
    return;
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, again, {...process.env, ...allocatorLimits});
}

/**
 * Node's words for a package that it finds in no folder `node_modules`; a file of ours that is
 * missing has other words.
 */
const missing = /^Cannot find (?:package|module) '((?:@[\w.-]+\/)?[\w-][\w.-]*)/;

/**
 * What to do about a package that is not installed; null where the error is about something else.
 * @param root - the folder of `package.json`
 */
export function describeMissingPackage(error: unknown, root = packageRoot): string | null {
  const {code, message = ''} = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return null;
  const [, name] = missing.exec(message) ?? [];
  if (name === undefined) return null;
  const isInstalled = root.split(/[/\\]/).includes('node_modules');
  const mend = isInstalled ? 'install fieldmirror again' : `run npm install in ${root}`;
  const place = isInstalled ? dirname(root) : join(root, 'node_modules');
  return `package ${name}: expected it in ${place}, found none; ${mend}`;
}
