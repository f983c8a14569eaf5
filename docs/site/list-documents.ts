import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';

export const repository = join(import.meta.dirname, '..', '..');

export interface Document {
  /** In the repository: `docs/watching.md`. */
  readonly path: string;
  readonly markdown: string;
}

/** One entry of the menu. */
export interface Entry {
  readonly path: string;
  readonly title: string;
}

/** Documents that stand beside the README. */
const besideReadme = ['SECURITY.md', 'CONTRIBUTING.md', 'licences/README.md', 'CHANGELOG.md'];

/** The README of a folder of examples, and those of the examples in it. */
async function listExamples(folder: string): Promise<readonly string[]> {
  const entries = await readdir(join(repository, folder), {withFileTypes: true});
  const names = entries.filter((entry) => entry.isDirectory()).map(({name}) => name);
  return [folder, ...names.toSorted().map((name) => `${folder}/${name}`)].map(
    (place) => `${place}/README.md`,
  );
}

/** README, all of docs, the examples, and what stands beside the README. */
export async function listDocuments(): Promise<readonly Document[]> {
  const names = await readdir(join(repository, 'docs'), {recursive: true});
  const inDocs = names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  const examples = [...(await listExamples('examples/orm')), 'examples/tryton/README.md'];
  const paths = ['README.md', ...inDocs.toSorted(), ...examples, ...besideReadme];
  return await Promise.all(
    paths.map(async (path) => ({path, markdown: await readFile(join(repository, path), 'utf8')})),
  );
}

/** The documents in the order of docs/README.md; those of a folder are found by its page. */
export function listMenu(
  documents: readonly Document[],
  titles: ReadonlyMap<string, string>,
): readonly Entry[] {
  const index = documents.find(({path}) => path === 'docs/README.md')?.markdown ?? '';
  const listed = [...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name = '']) => `docs/${name}`);
  const flat = documents.map(({path}) => path).filter((path) => /^docs\/[\w-]+\.md$/.test(path));
  const ordered = new Set([...listed, ...flat]);
  const entry = (path: string) => ({path, title: titles.get(path) ?? path});
  return [
    entry('README.md'),
    ...[...ordered].map(entry),
    {path: 'docs/decisions', title: 'Decisions'},
    ...besideReadme.map(entry),
  ];
}
