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
  const seen = new Map<string, number>();
  return (title) => {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  };
}

let passages: readonly Passage[] | null = null;

/** Passages that have every word, or a word that begins with it; the best first. */
function findPassages(words: readonly string[]): Hit[] {
  passages ??= listDocuments().flatMap(readPassages);
  const patterns = words.map(
    (word) => new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(word)}`, 'giu'),
  );
  return passages
    .map((passage) => ({...passage, score: weigh(passage, patterns)}))
    .filter(({score}) => score > 0)
    .toSorted((one, other) => other.score - one.score);
}

/** The score of a passage; 0 if a word is missing. */
function weigh({title, page, text}: Passage, patterns: readonly RegExp[]): number {
  const scores = patterns.map((pattern) => {
    const count = (of: string) => of.match(pattern)?.length ?? 0;
    return (
      weights.title * Math.min(1, count(title)) +
      weights.page * Math.min(1, count(page)) +
      Math.min(weights.mostInText, count(text))
    );
  });
  return scores.includes(0) ? 0 : scores.reduce((total, score) => total + score, 0);
}

/** @param path - of the document, without `.md` */
function readPassages(path: string): Passage[] {
  const page = titleOfDocument(path);
  const anchors = makeAnchors();
  const base = path === 'README' ? '/docs' : `/docs/${path}`;
  const found: {href: string; title: string; lines: string[]}[] = [];
  let isListing = false;
  for (const line of readDocument(path).split('\n')) {
    if (/^\s*```/.test(line)) isListing = !isListing;
    const [, marks = '', heading = ''] = (isListing ? null : /^(#+) (.+)$/.exec(line)) ?? [];
    if (heading === '') {
      found.at(-1)?.lines.push(line);
      continue;
    }
    const title = heading.replaceAll('`', '');
    const anchor = anchors(title);
    // The title is the heading of the page itself.
    const href = marks === '#' ? base : `${base}#${anchor}`;
    found.push({href, title: toPlain(title), lines: []});
  }
  return found.map(({lines, ...passage}) => ({...passage, page, text: toPlain(lines.join('\n'))}));
}

/** Text without the signs of Markdown. */
function toPlain(markdown: string): string {
  return markdown
    .replaceAll(/^\s*```.*$|<[^>\n]+>/gm, ' ')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|`|\||^[ >#-]+|-{3,}/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** The form that searches for words; its state is the address. */
export function renderDocumentSearch(sought: string): SafeHtml {
  return html`<form class="filters" action="/docs" role="search"
  aria-label="Documents"><label>Search the documents
<input type="search" name="q" value="${sought}" maxlength="100"></label>
<button class="plain">Search</button></form>`;
}

/** The passages that match some words. */
export function renderFoundPassages(sought: string): SafeHtml {
  const words = sought.split(/\s+/).filter((word) => word !== '');
  const hits = words.length === 0 ? [] : findPassages(words);
  if (hits.length === 0)
    return html`<p class="lead">Nothing was found for “${sought}”.</p>
<p>Each word must be there, or the beginning of one: use fewer, or shorter ones.
  <a href="/docs">All documents</a></p>`;
  const count =
    hits.length > mostHits ? `The first ${mostHits} of ${hits.length}` : `${hits.length} found`;
  return html`<p class="lead">${count} for “${sought}”.</p>
<ol class="list">${hits.slice(0, mostHits).map(
    ({href, title, page, text}) =>
      html`<li><a href="${href}">${title === page ? title : `${page}: ${title}`}</a>
<p class="small">${renderExcerpt(text, words)}</p></li>`,
  )}</ol>`;
}

/** Characters before the first word that was found, and altogether. */
const before = 60;
const around = 220;

/** The text around the first word that was found in it, with the words marked. */
function renderExcerpt(text: string, words: readonly string[]): SafeHtml {
  const any = words.map((word) => RegExp.escape(word)).join('|');
  const pattern = new RegExp(`((?<![\\p{L}\\p{N}])(?:${any}))`, 'iu');
  const at = text.search(pattern);
  const from = at <= before ? 0 : text.lastIndexOf(' ', at - before) + 1;
  const end = text.length <= from + around ? text.length : text.lastIndexOf(' ', from + around);
  const parts = text.slice(from, end).split(new RegExp(pattern, 'giu'));
  return html`${from > 0 ? '… ' : ''}${parts.map((part, place) =>
    place % 2 === 1 ? html`<strong>${part}</strong>` : part,
  )}${end < text.length ? ' …' : ''}`;
}
