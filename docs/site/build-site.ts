import {cp, mkdir, readFile, rm, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';
import {renderFolder} from './folder.ts';
import {listDocuments, listMenu, repository} from './list-documents.ts';
import {renderDocument} from './render-document.ts';
import {type Framed, renderPage} from './render-page.ts';
import {addressOf, type Site} from './resolve-link.ts';
import {makeIndex} from './search/make-index.ts';
import type {Passage} from './search/search-options.ts';

/** A page, and where its text stands in the repository. */
interface Page extends Omit<Framed, 'menu'> {
  readonly passages: readonly Passage[];
}

/** Folders that documents lead to and that hold none themselves. */
const copied = ['docs/pictures', 'ops'];
const assets = join(repository, 'src', 'console');

/**
 * Builds README, docs and what stands beside them as pages that work from a disk: nothing is asked
 * of another machine, and none is needed.
 * @param to - a folder, emptied first
 * @returns the addresses of the pages, as `decisions/index.html`
 * @throws where a document leads to nothing
 */
export async function buildSite(to: string): Promise<readonly string[]> {
  const documents = await listDocuments();
  const site: Site = {documents: documents.map(({path}) => path), copied};
  const rendered = documents.map((document) => ({...document, ...renderDocument(document, site)}));
  const titles = new Map(rendered.map(({path, title}) => [path, title]));
  const folders = await Promise.all(
    ['docs/decisions', 'ops'].map((folder) => renderFolder(folder, titles, site)),
  );
  const pages: Page[] = [...rendered, ...folders];
  const menu = listMenu(documents, titles);

  await rm(to, {recursive: true, force: true});
  for (const page of pages) await writePage(to, page, renderPage({...page, menu}));
  for (const folder of copied)
    await cp(join(repository, folder), join(to, dirname(addressOf(`${folder}/`, site))), {
      recursive: true,
    });
  await writeAssets(to);
  const index = makeIndex(pages.flatMap(({passages}) => passages));
  await writeFile(
    join(to, 'search-index.js'),
    `globalThis.fieldmirrorIndex = ${JSON.stringify(index)};\n`,
  );
  return pages.map(({address}) => address);
}

async function writePage(to: string, {address}: Page, page: string): Promise<void> {
  const file = join(to, address);
  await mkdir(dirname(file), {recursive: true});
  await writeFile(file, page);
}

/**
 * The console's sheet and icon, what the site adds to them, and the search: a script that a page
 * from a disk may load.
 */
async function writeAssets(to: string): Promise<void> {
  const sheets = [join(assets, 'console.css'), join(import.meta.dirname, 'site.css')];
  const texts = await Promise.all(sheets.map((path) => readFile(path, 'utf8')));
  await writeFile(join(to, 'site.css'), texts.join('\n'));
  await cp(join(assets, 'icon.svg'), join(to, 'icon.svg'));
  await build({
    entryPoints: [join(import.meta.dirname, 'search', 'search.js')],
    outfile: join(to, 'search.js'),
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    banner: {js: '/*! MiniSearch is in it; its licence: minisearch-licence.txt */'},
    logLevel: 'warning',
  });
  const licence = join(
    dirname(fileURLToPath(import.meta.resolve('minisearch'))),
    '..',
    '..',
    'LICENSE.txt',
  );
  await cp(licence, join(to, 'minisearch-licence.txt'));
}
