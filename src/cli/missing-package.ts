// Imports nothing but Node: it is loaded where no package may be there.

import {dirname, join} from 'node:path';
import {packageRoot} from '../core/package.ts';

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
  return `package ${name}: expected it in ${isInstalled ? dirname(root) : join(root, 'node_modules')}, found none; ${mend}`;
}
