// Files beside the code are found from the package's root, which is the same from source and from
// the built program: there all files of code are in `dist/`. Documents are found by their paths,
// and sections of errors and alerts by the codes that messages end with.

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

const docsFolder = join(packageRoot, 'docs');

let documents: readonly string[] | null = null;

/**
 * Paths below `docs`, without their ending: `installing`. Read once: they come with the program.
 */
export function listDocuments(): readonly string[] {
  documents ??= readdirSync(docsFolder, {recursive: true, encoding: 'utf8'})
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.replaceAll('\\', '/').replace(/\.md$/, ''))
    .toSorted();
  return documents;
}

const documentTexts = new Map<string, string>();

/**
 * The text of a document, in Markdown; read once.
 * @param path - one of `listDocuments`
 */
export function readDocument(path: string): string {
  const text = documentTexts.get(path) ?? readFileSync(join(docsFolder, `${path}.md`), 'utf8');
  documentTexts.set(path, text);
  return text;
}

/** The section of a document about the code of an error or of an alert, as `E07` or `A16`. */
interface CodeSection {
  readonly code: string;
  /** One of `listDocuments`. */
  readonly document: string;
  /** The anchor of its heading: `e07-service`. */
  readonly anchor: string;
  /** In Markdown, with its heading. */
  readonly text: string;
}

/** Whether a word is a code and not the name of a stream. */
export function isCode(word: string): boolean {
  return /^[EA]\d\d$/i.test(word);
}

let sections: readonly CodeSection[] | null = null;

export function listCodeSections(): readonly CodeSection[] {
  sections ??= ['errors', 'alerts'].flatMap((document) => {
    const parts = readDocument(document)
      .split(/^(?=## )/m)
      .slice(1);
    return parts.map((text) => {
      const [, code = '', kind = ''] = /^## ([EA]\d\d) ([\w-]+)$/m.exec(text) ?? [];
      return {code, document, anchor: `${code}-${kind}`.toLowerCase(), text};
    });
  });
  return sections;
}

/**
 * @param word - a code, in any case
 * @returns null if there is no such code
 */
export function findCodeSection(word: string): CodeSection | null {
  if (!isCode(word)) return null;
  const wantedCode = word.toUpperCase();
  return listCodeSections().find(({code}) => code === wantedCode) ?? null;
}
