// The documents that come with the program, at `/docs`. They need no sign-in, because a message
// ends with a code, and its reader may not be signed in.

import {posix} from 'node:path';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance} from 'fastify';
import {Marked, type Token} from 'marked';
import {numberOfCause, seeDocs} from '../core/errors.ts';
import {findCodeSection, listDocuments, readDocument} from '../core/package.ts';
import {AccessRefused} from './access.ts';
import {drawPlain} from './layout.ts';

/** A link to the section about the code of an error or of an alert. */
export function drawCodeLink(code: string): SafeHtml {
  return html`<a href="/docs/${code}">${code}</a>`;
}

/** Where a cause of an alert is explained. */
export function drawCause(cause: string): SafeHtml {
  const page = numberOfCause(cause);
  return page === null ? html`${seeDocs(cause)}` : html`see ${drawCodeLink(page)}`;
}

export function addDocuments(app: FastifyInstance): void {
  const send = {config: {isOpen: true}};
  app.get('/docs', send, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(drawPlain('Documents', drawIndex())),
  );
  app.get('/docs/*', send, async (request, reply) => {
    const wanted = (request.params as Readonly<Record<string, string>>)['*'] ?? '';
    const section = findCodeSection(wanted);
    if (section !== null) return reply.redirect(`/docs/${section.document}#${section.anchor}`, 303);
    // Only a document of the list is read, whatever the address says.
    if (!listDocuments().includes(wanted))
      throw new AccessRefused(404, {
        title: 'Not found',
        text: 'There is no such document.',
        ways: [{href: '/docs', label: 'Documents'}],
      });
    const {title, body} = renderDocument(wanted);
    return reply.type('text/html; charset=utf-8').send(drawPlain(title, html.raw`${body}`));
  });
}

function drawIndex(): SafeHtml {
  const groups = Map.groupBy(listDocuments(), (path) => posix.dirname(path));
  return html`${[...groups].map(
    ([folder, paths]) => html`<h2>${folder === '.' ? 'Guides' : folder}</h2>
<ul>${paths.map((path) => html`<li><a href="/docs/${path}">${titleOf(path)}</a></li>`)}</ul>`,
  )}`;
}

function titleOf(path: string): string {
  return /^# (.+)$/m.exec(readDocument(path))?.[1]?.replaceAll('`', '') ?? path;
}

function renderDocument(path: string): {readonly title: string; readonly body: string} {
  const marked = new Marked();
  const tokens = marked.lexer(readDocument(path));
  marked.walkTokens(tokens, (token) => leadIntoConsole(token, path));
  const anchors = makeAnchors();
  marked.use({
    renderer: {
      heading(token) {
        const text = this.parser.parseInline(token.tokens);
        const tag = `h${token.depth}`;
        const anchor = anchors(token.text.replaceAll('`', ''));
        return `<${tag} id="${anchor}">${text}</${tag}>\n`;
      },
      // A table or a listing that is wider than the page moves in a frame of its own, also by keys.
      table(token) {
        const drawn = marked.Renderer.prototype.table.call(this, token);
        const frame = 'class="scroll" role="group" aria-label="Table" tabindex="0"';
        return `<div ${frame}>${drawn}</div>\n`;
      },
      html: () => '',
      image: () => '',
    },
  });
  const isTitle = (token: Token) => token.type === 'heading' && token.depth === 1;
  return {title: titleOf(path), body: marked.parser(tokens.filter((token) => !isTitle(token)))};
}

/**
 * Lets a link lead to the page of its document here; one to a file that is not among them leads
 * nowhere.
 */
function leadIntoConsole(token: Token, from: string): void {
  if (token.type !== 'link' || /^(https?:|#)/.test(token.href)) return;
  const [target = '', anchor] = String(token.href).split('#');
  const path = posix.join(posix.dirname(from), target).replace(/\.md$/, '');
  token.href = listDocuments().includes(path)
    ? `/docs/${path}${anchor === undefined ? '' : `#${anchor}`}`
    : '#';
}

/**
 * Anchors of headings as GitHub makes them: lower case, hyphens for spaces, no punctuation, and a
 * number from the second of a name.
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
