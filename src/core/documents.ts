// The documents that come with the program, by the numbers that messages end with and by their
// paths.

import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {packageRoot} from './package.ts';

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
