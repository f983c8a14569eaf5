// Functions, triggers and grants are source: files that are applied as a whole whenever one of them changed, so that no
// migration holds a copy of one.

import {createHash} from 'node:crypto';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {WarehouseTable} from './warehouse-table.ts';

const functionsFolder = fileURLToPath(new URL('../../migrations/functions', import.meta.url));
const packageFile = new URL('../../package.json', import.meta.url);

/** All that the database is told beside its tables, as this version has it. */
export interface Source {
  /** Our version, as in `0.1.0`. */
  readonly version: string;
  /** SHA-256 over the files, and over the definitions of the tables that they are applied to. */
  readonly hash: string;
  /** SQL, in the order to run it. */
  readonly files: readonly {readonly name: string; readonly text: string}[];
}

/** Reads `migrations/functions`, and the definitions of these tables. */
export function readSource(tables: readonly WarehouseTable[], folder = functionsFolder): Source {
  const files = readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({name, text: readFileSync(join(folder, name), 'utf8')}));
  const hash = createHash('sha256')
    .update(JSON.stringify([files, tables]))
    .digest('hex');
  return {version: readVersion(), hash, files};
}

/** Our version, as in `0.1.0`. */
export function readVersion(): string {
  const {version} = JSON.parse(readFileSync(packageFile, 'utf8')) as {version: string};
  return version;
}
