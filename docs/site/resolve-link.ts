// From a link in the repository to one in the site. Documents keep their names; README is the first
// page, and docs is the root.

import {posix} from 'node:path';

/** The contents of the site. */
export interface Site {
  /** Paths in the repository. */
  readonly documents: readonly string[];
  /** Folders whose files are taken along. */
  readonly copied: readonly string[];
}

/**
 * The place of a document, a file or a folder in the site: `docs/decisions` becomes
 * `decisions/index.html`.
 */
export function addressOf(path: string, {documents}: Pick<Site, 'documents'>): string {
  if (path === 'README.md') return 'index.html';
  const short = path.replace(/^docs\//, '');
  if (documents.includes(path)) return short.replace(/\.md$/, '.html');
  return posix.extname(short) === '' ? posix.join(short, 'index.html') : short;
}

/**
 * Turns a link of a document into one of its page.
 * @param from - path of the document
 * @throws where the site has nothing at its end
 */
export function resolveLink(from: string, href: string, site: Site): string {
  if (/^(https?:|#)/.test(href)) return href;
  const [target = '', anchor] = href.split('#');
  const path = posix.join(posix.dirname(from), target);
  const isThere =
    site.documents.some((each) => each === path || each.startsWith(`${path}/`)) ||
    site.copied.some((folder) => path === folder || path.startsWith(`${folder}/`));
  if (!isThere)
    throw new Error(
      `${from}: a link leads to ${path}, which is not in the site: see docs/site/build-site.ts`,
    );
  const to = posix.relative(posix.dirname(addressOf(from, site)), addressOf(path, site));
  return anchor === undefined ? to : `${to}#${anchor}`;
}
