// The documents that come with the program, at `/docs`. They need no sign-in, because messages end
// with a code, and the reader of a message may not be signed in. A reader who is signed in sees the
// frame around them. The search finds words in them: the text below one heading is one hit. A scan
// of a few hundred passages takes a millisecond, so that they need no index.

import {posix} from 'node:path';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance, FastifyRequest} from 'fastify';
import {Marked, type Token} from 'marked';
import {numberOfCause, seeDocs} from '../core/errors.ts';
import {findCodeSection, listDocuments, readDocument} from '../core/package.ts';
import {capitalise} from '../core/text.ts';
import {AccessRefused, type FormFields} from './access.ts';
import {renderPlain} from './layout.ts';
import {knownViewerOf} from './sign-in.ts';

/** A link to the section about the code of an error or of an alert. */
export function renderCodeLink(code: string): SafeHtml {
  return html`<a href="/docs/${code}">${code}</a>`;
}

/** A link to the explanation of a cause of an alert. */
export function renderCause(cause: string): SafeHtml {
  const page = numberOfCause(cause);
  return page === null ? html`${seeDocs(cause)}` : html`see ${renderCodeLink(page)}`;
}

export function addDocuments(app: FastifyInstance): void {
  const openRoute = {config: {isOpen: true, knowsViewer: true}};
  const renderPage = (
    {title, body, chapters}: RenderedDocument,
    request: FastifyRequest,
    searchText = '',
  ) =>
    renderPlain(title, renderFramed({body, chapters, sought: searchText}), knownViewerOf(request));
  app.get<{Querystring: FormFields}>('/docs', openRoute, async (request, reply) => {
    const {q} = request.query;
    const document = q === undefined ? renderIndex() : renderSearchResult(q);
    return reply.type('text/html; charset=utf-8').send(renderPage(document, request, q));
  });
  app.get<{Params: {'*': string}}>('/docs/*', openRoute, async (request, reply) => {
    const path = request.params['*'];
    const section = findCodeSection(path);
    if (section !== null) return reply.redirect(`/docs/${section.document}#${section.anchor}`, 303);
    // Only a document of the list is read, whatever the address contains.
    if (!listDocuments().includes(path))
      throw new AccessRefused(404, {
        title: 'Not found',
        text: 'There is no such document.',
        ways: [{href: '/docs', label: 'Documents'}],
      });
    return reply.type('text/html; charset=utf-8').send(renderPage(renderDocument(path), request));
  });
}

interface Chapter {
  readonly anchor: string;
  readonly title: string;
}

interface RenderedDocument {
  readonly title: string;
  readonly body: string;
  readonly chapters: readonly Chapter[];
}

/** Fewer chapters than this are seen at a glance, and get no list. */
const leastChapters = 3;

/** A document, with a link to all documents and its chapters beside it. */
function renderFramed({
  body,
  chapters,
  sought: searchText,
}: Omit<RenderedDocument, 'title'> & {readonly sought: string}): SafeHtml {
  const list = chapters.map(({anchor, title}) => html`<li><a href="#${anchor}">${title}</a></li>`);
  return html`<div class="document"><nav aria-label="Documents">${renderDocumentSearch(
    searchText,
  )}<a href="/docs">All documents</a>${
    chapters.length < leastChapters
      ? ''
      : html`<details open><summary>On this page</summary><ul class="links">${list}</ul></details>`
  }</nav><article>${html.raw`${body}`}</article></div>`;
}

function renderSearchResult(searchText: string): RenderedDocument {
  return {title: 'Documents', body: String(renderFoundPassages(searchText)), chapters: []};
}

const indexName = 'README';

/**
 * The document that lists the others. Documents that it does not link to are added, grouped by
 * folder.
 */
function renderIndex(): RenderedDocument {
  const {body, chapters} = renderDocument(indexName);
  const unlinkedPaths = listDocuments().filter(
    (path) => path !== indexName && !body.includes(`href="/docs/${path}"`),
  );
  const groups = [...Map.groupBy(unlinkedPaths, (path) => posix.dirname(path))].map(
    ([folder, paths]) => {
      const anchor = folder === '.' ? 'more' : folder;
      return {anchor, title: capitalise(anchor), paths};
    },
  );
  const unlinkedSections = groups.map(
    ({anchor, title, paths}) => html`<h2 id="${anchor}">${title}</h2>
<ul>${paths.map(renderLink)}</ul>`,
  );
  return {
    title: 'Documents',
    body: `${body}${html`${unlinkedSections}`}`,
    chapters: [...chapters, ...groups],
  };
}

function renderLink(path: string): SafeHtml {
  return html`<li><a href="/docs/${path}">${titleOfDocument(path)}</a></li>`;
}

function renderDocument(path: string): RenderedDocument {
  const marked = new Marked();
  const tokens = marked.lexer(readDocument(path));
  marked.walkTokens(tokens, (token) => rewriteLink(token, path));
  const anchors = makeAnchors();
  const chapters: Chapter[] = [];
  marked.use({
    renderer: {
      heading(token) {
        const text = this.parser.parseInline(token.tokens);
        const tag = `h${token.depth}`;
        const title = token.text.replaceAll('`', '');
        const anchor = anchors(title);
        if (token.depth === 2) chapters.push({anchor, title});
        return `<${tag} id="${anchor}">${text}</${tag}>\n`;
      },
      // A table that is wider than the page scrolls in its own frame, also by keys.
      table(token) {
        const table = marked.Renderer.prototype.table.call(this, token);
        const frame = 'class="scroll" role="group" aria-label="Table" tabindex="0"';
        return `<div ${frame}>${table}</div>\n`;
      },
      html: () => '',
      image: () => '',
    },
  });
  const isTitle = (token: Token) => token.type === 'heading' && token.depth === 1;
  const body = marked.parser(tokens.filter((token) => !isTitle(token)));
  return {title: titleOfDocument(path), body, chapters};
}

/**
 * Makes a link to a document point at its page here. If the text is the name of the file, the title
 * replaces it. A link to a file that is not among the documents leads nowhere.
 */
function rewriteLink(token: Token, fromPath: string): void {
  if (token.type !== 'link' || /^(https?:|#)/.test(token.href)) return;
  const [target = '', anchor] = String(token.href).split('#');
  const path = posix.join(posix.dirname(fromPath), target).replace(/\.md$/, '');
  if (listDocuments().includes(path)) {
    token.href = `/docs/${path}${anchor === undefined ? '' : `#${anchor}`}`;
    if (token.text === posix.basename(target))
      token.tokens = [makeTextToken(titleOfDocument(path))];
  } else {
    const isFolder = listDocuments().some((documentPath) => documentPath.startsWith(`${path}/`));
    token.href = isFolder ? `/docs#${path}` : '#';
  }
}

function makeTextToken(title: string): Token {
  return {type: 'text', raw: title, text: title};
}

/** The text below one heading. */
interface Passage {
  /** Its address: `/docs/watching#alerts`. */
  readonly href: string;
  readonly title: string;
  /** Title of its document. */
  readonly page: string;
  readonly text: string;
}

interface Hit extends Passage {
  readonly score: number;
}

const mostHits = 20;
/** A word in a title weighs more than one in the text, however often the text has it. */
const weights = {title: 8, page: 3, mostInText: 4} as const;

/** The title of a document. */
function titleOfDocument(path: string): string {
  return /^# (.+)$/m.exec(readDocument(path))?.[1]?.replaceAll('`', '') ?? path;
}

/**
 * Anchors of headings as GitHub makes them: lower case, hyphens for spaces, no punctuation, and a
 * number if the same name comes again.
 */
export function makeAnchors(): (title: string) => string {
  const countByAnchor = new Map<string, number>();
  return (title) => {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    const count = countByAnchor.get(anchor) ?? 0;
    countByAnchor.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

let cachedPassages: readonly Passage[] | null = null;

/** Passages that have every word, or a word that begins with it; the best first. */
function findPassages(words: readonly string[]): Hit[] {
  cachedPassages ??= listDocuments().flatMap(readPassages);
  const patterns = words.map(
    (word) => new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(word)}`, 'giu'),
  );
  return cachedPassages
    .map((passage) => ({...passage, score: scorePassage(passage, patterns)}))
    .filter(({score}) => score > 0)
    .toSorted((one, other) => other.score - one.score);
}

/** The score of a passage; 0 if a word is missing. */
function scorePassage({title, page, text}: Passage, patterns: readonly RegExp[]): number {
  const scores = patterns.map((pattern) => {
    const countMatches = (part: string) => part.match(pattern)?.length ?? 0;
    return (
      weights.title * Math.min(1, countMatches(title)) +
      weights.page * Math.min(1, countMatches(page)) +
      Math.min(weights.mostInText, countMatches(text))
    );
  });
  return scores.includes(0) ? 0 : scores.reduce((total, score) => total + score, 0);
}

/** @param path - of the document, without `.md` */
function readPassages(path: string): Passage[] {
  const page = titleOfDocument(path);
  const anchors = makeAnchors();
  const pageHref = path === 'README' ? '/docs' : `/docs/${path}`;
  const sections: {href: string; title: string; lines: string[]}[] = [];
  let isInCodeBlock = false;
  for (const line of readDocument(path).split('\n')) {
    if (/^\s*```/.test(line)) isInCodeBlock = !isInCodeBlock;
    const [, marks = '', heading = ''] = (isInCodeBlock ? null : /^(#+) (.+)$/.exec(line)) ?? [];
    if (heading === '') {
      sections.at(-1)?.lines.push(line);
      continue;
    }
    const title = heading.replaceAll('`', '');
    const anchor = anchors(title);
    // The title is the heading of the page itself.
    const href = marks === '#' ? pageHref : `${pageHref}#${anchor}`;
    sections.push({href, title: toPlainText(title), lines: []});
  }
  return sections.map(({lines, ...passage}) => ({
    ...passage,
    page,
    text: toPlainText(lines.join('\n')),
  }));
}

/** Text without the signs of Markdown. */
function toPlainText(markdown: string): string {
  return markdown
    .replaceAll(/^\s*```.*$|<[^>\n]+>/gm, ' ')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|`|\||^[ >#-]+|-{3,}/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** The form that searches for words; its state is the address. */
function renderDocumentSearch(searchText: string): SafeHtml {
  return html`<form class="filters" action="/docs" role="search"
  aria-label="Documents"><label>Search the documents
<input type="search" name="q" value="${searchText}" maxlength="100"></label>
<button class="plain">Search</button></form>`;
}

/** The passages that match some words. */
function renderFoundPassages(searchText: string): SafeHtml {
  const words = searchText.split(/\s+/).filter((word) => word !== '');
  const hits = words.length === 0 ? [] : findPassages(words);
  if (hits.length === 0)
    return html`<p class="lead">Nothing was found for “${searchText}”.</p>
<p>Each word must be there, or the beginning of one: use fewer, or shorter ones.
  <a href="/docs">All documents</a></p>`;
  const count =
    hits.length > mostHits ? `The first ${mostHits} of ${hits.length}` : `${hits.length} found`;
  return html`<p class="lead">${count} for “${searchText}”.</p>
<ol class="list">${hits.slice(0, mostHits).map(
    ({href, title, page, text}) =>
      html`<li><a href="${href}">${title === page ? title : `${page}: ${title}`}</a>
<p class="small">${renderExcerpt(text, words)}</p></li>`,
  )}</ol>`;
}

/** Characters before the first word that was found, and altogether. */
const charactersBefore = 60;
const excerptLength = 220;

/** The text around the first word that was found in it, with the words marked. */
function renderExcerpt(text: string, words: readonly string[]): SafeHtml {
  const alternatives = words.map((word) => RegExp.escape(word)).join('|');
  const pattern = new RegExp(`((?<![\\p{L}\\p{N}])(?:${alternatives}))`, 'iu');
  const position = text.search(pattern);
  const start =
    position <= charactersBefore ? 0 : text.lastIndexOf(' ', position - charactersBefore) + 1;
  const end =
    text.length <= start + excerptLength
      ? text.length
      : text.lastIndexOf(' ', start + excerptLength);
  const parts = text.slice(start, end).split(new RegExp(pattern, 'giu'));
  return html`${start > 0 ? '… ' : ''}${parts.map((part, index) =>
    index % 2 === 1 ? html`<strong>${part}</strong>` : part,
  )}${end < text.length ? ' …' : ''}`;
}
