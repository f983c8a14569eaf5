// Files beside the code are found from the package's root, which is the same from source and from
// the built program: there all files of code stand in `dist/`. Documents are found by the
// numbers that messages end with and by their paths.

import {existsSync, readdirSync, readFileSync} from 'node:fs';
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

const folder = join(packageRoot, 'docs');
/** Of an error or an alert: `E07`, `A16`. */
const number = /^[EA]\d\d$/i;

/** Whether a word is the number of a page and not the name of a stream. */
export function isPageNumber(word: string): boolean {
  return number.test(word);
}

let documents: readonly string[] | null = null;

/**
 * Paths below `docs`, without their ending: `installing`, `errors/E07`. Read once: they come with
 * the program.
 */
export function listDocuments(): readonly string[] {
  documents ??= readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.replaceAll('\\', '/').replace(/\.md$/, ''))
    .toSorted();
  return documents;
}

/** The path of the page of a number; null where there is none. */
export function findPage(word: string): string | null {
  const wanted = word.toUpperCase();
  return listDocuments().find((path) => path.endsWith(`/${wanted}`)) ?? null;
}

/**
 * The text of a document, in Markdown.
 * @param path - one of `listDocuments`
 */
export function readDocument(path: string): string {
  return readFileSync(join(folder, `${path}.md`), 'utf8');
}
