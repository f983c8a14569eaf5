// Files beside the code are found from the package's root, which is the same from source and from
// the built program: there all files of code stand in `dist/`.

import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';

/** The folder of `package.json`. */
export const packageRoot = findRoot(import.meta.dirname);

/** Our version, as in `0.1.0`. */
export function readVersion(): string {
  const {version} = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  if (folder !== dirname(folder)) return findRoot(dirname(folder));
  throw new Error(
    `expected package.json above ${import.meta.dirname}, found none; install fieldmirror again`,
  );
}
