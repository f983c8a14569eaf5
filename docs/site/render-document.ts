import {Marked, type Token, type Tokens} from 'marked';
import {makeAnchors} from '../../src/console/documents.ts';
import type {Document} from './list-documents.ts';
import {addressOf, resolveLink, type Site} from './resolve-link.ts';
import type {Passage} from './search/search-options.ts';

export interface Heading {
  readonly depth: number;
  readonly anchor: string;
  readonly title: string;
}

export interface Rendered {
  readonly address: string;
  readonly title: string;
  /** Without its title. */
  readonly body: string;
  /** Without its title. */
  readonly headings: readonly Heading[];
  readonly passages: readonly Passage[];
}

/**
 * Renders a document: links lead into the site, headings have the anchors that they have in the
 * repository.
 */
export function renderDocument({path, markdown}: Document, site: Site): Rendered {
  const tokens = new Marked().lexer(markdown);
  leadIntoSite(tokens, path, site);
  const anchors = makeAnchors();
  const found = new Map<Token, Heading>();
  for (const token of tokens)
    if (token.type === 'heading') {
      const title = readText([token]);
      found.set(token, {depth: token.depth, anchor: anchors(title), title});
    }
  const [first, ...headings] = found.values();
  const title = first?.title ?? path;
  const body = makeMarked(found).parser(tokens.filter((token) => found.get(token) !== first));
  const address = addressOf(path, site);
  return {address, title, body, headings, passages: listPassages(tokens, found, address, title)};
}

/** Lets every link, picture and address in markup lead into the site. */
function leadIntoSite(tokens: Token[], path: string, site: Site): void {
  new Marked().walkTokens(tokens, (token) => {
    if (token.type === 'link' || token.type === 'image')
      token.href = resolveLink(path, token.href, site);
    if (token.type === 'html')
      token.text = token.text.replace(
        /\b(src|srcset|href)="([^"]+)"/g,
        (_match: string, name: string, href: string) =>
          `${name}="${resolveLink(path, href, site)}"`,
      );
  });
}

function makeMarked(headings: ReadonlyMap<Token, Heading>): Marked {
  const marked = new Marked();
  marked.use({
    renderer: {
      heading(token) {
        const {anchor} = headings.get(token) ?? {anchor: ''};
        const text = this.parser.parseInline(token.tokens);
        const tag = `h${token.depth}`;
        const label = 'aria-label="Link to this section"';
        const link = `<a class="anchor" href="#${anchor}" ${label}>#</a>`;
        return `<${tag} id="${anchor}">${text} ${link}</${tag}>\n`;
      },
      // A table or a listing that is wider than the page moves in a frame of its own, also by keys.
      table(token) {
        const table = marked.Renderer.prototype.table.call(this, token);
        return `<div class="scroll" role="group" aria-label="Table" tabindex="0">${table}</div>\n`;
      },
      code(token) {
        return marked.Renderer.prototype.code
          .call(this, token)
          .replace('<pre>', '<pre tabindex="0">');
      },
    },
  });
  return marked;
}

/** The texts between two headings, for the search. */
function listPassages(
  tokens: readonly Token[],
  headings: ReadonlyMap<Token, Heading>,
  address: string,
  page: string,
): Passage[] {
  const passages: Passage[] = [];
  for (const token of tokens) {
    const heading = headings.get(token);
    const last = passages.at(-1);
    if (heading !== undefined) {
      const to = passages.length === 0 ? address : `${address}#${heading.anchor}`;
      passages.push({id: to, title: heading.title, page, text: ''});
    } else if (last !== undefined) {
      passages[passages.length - 1] = {...last, text: `${last.text} ${readText([token])}`.trim()};
    }
  }
  return passages;
}

/** The text that a reader sees, without marks. */
function readText(tokens: readonly Token[]): string {
  return tokens.map(readToken).join('').replace(/\s+/g, ' ').trim();
}

function readToken(token: Token): string {
  if (token.type === 'html') return ' ';
  if (token.type === 'table') {
    const {header, rows} = token as Tokens.Table;
    return [header, ...rows]
      .flat()
      .map((cell) => `${cell.tokens.map(readToken).join('')} `)
      .join('');
  }
  if (token.type === 'list')
    return (token as Tokens.List).items
      .map((item) => `${item.tokens.map(readToken).join(' ')} `)
      .join('');
  const inner = 'tokens' in token ? token.tokens : undefined;
  if (inner !== undefined) return inner.map(readToken).join('');
  return 'text' in token ? token.text : ' ';
}
