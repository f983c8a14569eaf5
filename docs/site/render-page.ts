import {posix} from 'node:path';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {Entry} from './list-documents.ts';
import type {Heading, Rendered} from './render-document.ts';
import {addressOf} from './resolve-link.ts';

export interface Framed extends Pick<Rendered, 'address' | 'title' | 'body' | 'headings'> {
  readonly menu: readonly Entry[];
}

/** Fewer headings than these are seen at a glance. */
const leastContents = 3;

/** The one template: the menu, the search, the contents of the page, the page. */
export function renderPage({address, title, body, headings, menu}: Framed): string {
  const root = posix.relative(posix.dirname(address), '.') || '.';
  return `<!doctype html>
${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title === 'Fieldmirror' ? title : `${title} · Fieldmirror`}</title>
<link rel="icon" href="${root}/icon.svg">
<link rel="stylesheet" href="${root}/site.css">
<script src="${root}/search.js" data-root="${root}" defer></script>
</head>
<body>
<header class="top">
  <a class="brand" href="${root}/index.html">Fieldmirror</a>
  <a class="to-documents" href="#all-documents">All documents</a>
  <form class="search" role="search" hidden>
    <input type="search" name="q" aria-label="Search the documents" placeholder="search"
      autocomplete="off" aria-controls="found">
  </form>
</header>
<div class="found" id="found" role="status" hidden></div>
<div class="documents">
<main>
<h1>${title}</h1>
${renderContents(headings)}
${html.raw`${body}`}
</main>
<nav id="all-documents" aria-label="Documents">${renderMenu(menu, address, root)}</nav>
</div>
</body>
</html>
`}`;
}

function renderMenu(menu: readonly Entry[], address: string, root: string): SafeHtml {
  const documents = menu.map(({path}) => path);
  return html`<ul>${menu.map(({path, title}) => {
    const to = addressOf(path, {documents: documents.filter((each) => each.endsWith('.md'))});
    const current = to === address ? html` aria-current="page"` : '';
    return html`<li><a href="${root}/${to}"${current}>${title}</a></li>
`;
  })}</ul>`;
}

function renderContents(headings: readonly Heading[]): SafeHtml | string {
  const chapters = headings.filter(({depth}) => depth === 2);
  if (chapters.length < leastContents) return '';
  return html`<nav class="contents" aria-label="On this page"><ul>${chapters.map(
    ({anchor, title}) => html`<li><a href="#${anchor}">${title}</a></li>
`,
  )}</ul></nav>`;
}
