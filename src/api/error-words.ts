import type {Hide} from '../core/hide-secrets.ts';
import {decodeText, NotText} from './document-text.ts';

/** The words in the body of a refusal. */
export interface ErrorWords {
  /**
   * The service's words, at most 200 characters on one line; a remark of ours when there are none
   * to show.
   */
  readonly text: string;
  /** True for `<errors>`: only then do we know that it was the service itself that spoke. */
  readonly isReadable: boolean;
  readonly isHtml: boolean;
}

const MAX_LENGTH = 200;
const MAX_BODY_BYTES = 65_536;
// Asked of trimmed text only: two runs of blanks side by side in a pattern cost their square.
const ERRORS = /^(?:<\?xml[^>]*\?>\s*)?<errors(?:\s[^>]*)?>([\s\S]*)<\/errors>$/;
const EMPTY_ERRORS = /^(?:<\?xml[^>]*\?>\s*)?<errors(?:\s[^>]*)?\/>$/;

/**
 * Reads the body of an answer that is no success, whatever it is: `<errors><error>`, plain text
 * labelled XML, an HTML page, nothing. Never throws.
 * @param hide - hides what must not come back in the words: an answer can hold what was sent
 * @see docs/service.md "Errors and headers"
 */
export function readErrorWords(body: Buffer, contentType: string | null, hide: Hide): ErrorWords {
  const text = toText(body, contentType);
  const isHtml = /^<(?:!doctype\s+html|html)/i.test(text) || /text\/html/i.test(contentType ?? '');
  const inner = isHtml
    ? undefined
    : (ERRORS.exec(text)?.[1] ?? (EMPTY_ERRORS.test(text) ? '' : undefined));
  if (inner !== undefined)
    return {text: clean(readErrors(inner), hide) || 'no words', isReadable: true, isHtml};
  if (isHtml) return {text: 'an HTML page', isReadable: false, isHtml};
  if (text.includes('<')) return {text: 'an unknown document', isReadable: false, isHtml};
  return {text: clean(text, hide) || 'an empty body', isReadable: false, isHtml};
}

function toText(body: Buffer, contentType: string | null): string {
  try {
    return decodeText(body.subarray(0, MAX_BODY_BYTES), contentType).trim();
  } catch (error) {
    if (error instanceof NotText) return '';
    throw error;
  }
}

function readErrors(inner: string): string {
  const found = [...inner.matchAll(/<error(?:\s[^>]*)?>([^<]*)<\/error>/g)].slice(0, 20);
  return found.map((match) => unescapeXml(match[1] ?? '')).join(' · ');
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
  ['&#39;', "'"],
  ['&amp;', '&'],
]);

function unescapeXml(text: string): string {
  return text.replaceAll(
    /&(?:lt|gt|quot|apos|#39|amp);/g,
    (entity) => ENTITIES.get(entity) ?? entity,
  );
}

// Secrets are hidden before the cut, lest half of one is left at the end.
function clean(text: string, hide: Hide): string {
  const line = hide(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}
