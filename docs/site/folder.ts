import {readdir} from 'node:fs/promises';
import {join, posix} from 'node:path';
import {repository} from './list-documents.ts';
import type {Rendered} from './render-document.ts';
import {addressOf, type Site} from './resolve-link.ts';

/** A page for a folder that documents lead to: its documents by title, its other files by name. */
export async function renderFolder(
  folder: string,
  titles: ReadonlyMap<string, string>,
  site: Site,
): Promise<Rendered> {
  const names = (await readdir(join(repository, folder))).toSorted();
  const items = names.map((name) => {
    const path = posix.join(folder, name);
    const to = posix.basename(addressOf(path, site));
    return `<li><a href="${to}">${titles.get(path) ?? name}</a></li>`;
  });
  const name = posix.basename(folder);
  const title =
    name === 'ops'
      ? 'Files for Prometheus and Grafana'
      : `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const address = addressOf(folder, site);
  const body = `<ul>\n${items.join('\n')}\n</ul>\n`;
  const passages = [
    {
      id: address,
      title,
      page: title,
      text: names.map((each) => titles.get(`${folder}/${each}`) ?? each).join(', '),
    },
  ];
  return {address, title, body, headings: [], passages};
}
