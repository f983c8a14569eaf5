// The search for words in the documents: the text below one heading is one hit. A scan of a few
// hundred passages takes a millisecond, so that they need no index.

import {html, type SafeHtml} from '@remix-run/html-template';
import {listDocuments, readDocument} from '../core/package.ts';

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
export function titleOfDocument(path: string): string {
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
export function renderDocumentSearch(searchText: string): SafeHtml {
  return html`<form class="filters" action="/docs" role="search"
  aria-label="Documents"><label>Search the documents
<input type="search" name="q" value="${searchText}" maxlength="100"></label>
<button class="plain">Search</button></form>`;
}

/** The passages that match some words. */
export function renderFoundPassages(searchText: string): SafeHtml {
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
