// Functions, triggers and grants are source: files that are applied as a whole whenever one of them
// changed, so that no migration holds a copy of one.

import {createHash} from 'node:crypto';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {transitions} from '../changes/transitions.ts';
import {packageRoot, readVersion} from '../core/package.ts';
import type {Definitions} from './definitions.ts';

const functionsFolder = join(packageRoot, 'migrations', 'functions');

/** All that the database is told beside its tables, as this version has it. */
export interface Source {
  /** Our version, as in `0.1.0`. */
  readonly version: string;
  /** SHA-256 over the files, over the definitions, and over the drawing of the states. */
  readonly hash: string;
  /** SQL, in the order to run it. */
  readonly files: readonly {readonly name: string; readonly text: string}[];
}

/** Reads `migrations/functions`, and the definitions. */
export function readSource(definitions: Definitions, folder = functionsFolder): Source {
  const files = readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({name, text: readFileSync(join(folder, name), 'utf8')}));
  const hash = createHash('sha256')
    .update(JSON.stringify([files, definitions, transitions]))
    .digest('hex');
  return {version: readVersion(), hash, files};
}
