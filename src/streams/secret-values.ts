// The service sends credentials in its answers: a customer's portal token, an employee's password
// hashes. A warehouse that stores every field would store them, too. So they are recognized by name
// and dropped before anything is stored.

const SECRET = /pass|token|secret|salt|digest|api[-_. ]?key|stripe[-_]customer[-_]id/i;
const MASK = '[secret]';
const TAG_NAME = /^<\s*(\/?)\s*([^\s<>/"'=]+)/;
// The repetitions are bounded: an endless name in broken XML must not cost quadratic time.
const ATTRIBUTE = /([^\s<>/"'=]{1,100})(\s{0,9}=\s{0,9})("[^"]*"|'[^']*'|[^\s>"']+)/g;
/** Attributes that describe the kind of an element, not its content. */
const HARMLESS_ATTRIBUTES = new Set(['type', 'nil']);

interface Tag {
  readonly name: string;
  readonly isClosing: boolean;
  readonly isEmpty: boolean;
  /** False if no `>` comes before the next `<`. */
  readonly isWhole: boolean;
  readonly end: number;
}

/**
 * True for the name of an element that contains a credential, or may contain one: it is better to
 * lose a field than to leak one.
 * @param name - dashed or underscored
 * @see docs/service.md "Fields"
 */
export function isSecret(name: string): boolean {
  return SECRET.test(name);
}

/**
 * Returns the XML with `[secret]` in place of the contents of secret elements and attributes, which
 * are recognized by name. It accepts both dialects, and XML that is broken, cut or mismatched: it
 * may then hide more than the secret, never less.
 */
export function redactXml(xml: string): string {
  // No parser is used, because the XML may be broken in any way. The loop goes from `<` to `<` and
  // assumes as little as possible. If the end of a secret cannot be found, the rest of the text
  // counts as secret.
  let redacted = '';
  let position = 0;
  while (position < xml.length) {
    const tagStart = findNextMarkup(xml, position);
    const tag = readTag(xml, tagStart);
    redacted +=
      redactText(xml.slice(position, tagStart), tag) + redactTag(xml.slice(tagStart, tag.end), tag);
    position = tag.end;
    if (isSecret(tag.name) && !tag.isClosing && !tag.isEmpty) {
      position = findSecretEnd(xml, tag.end, tag.name);
      if (position > tag.end) redacted += MASK;
    }
  }
  return redacted;
}

// Hides the text before a secret's closing tag: it is found only if the opening tag was cut off.
function redactText(text: string, next: Tag): string {
  return next.isClosing && isSecret(next.name) && text.trim() !== '' ? MASK : text;
}

function redactTag(text: string, tag: Tag): string {
  if (!isSecret(text)) return text;
  if (!tag.isWhole) return `<${tag.isClosing ? '/' : ''}${tag.name} ${MASK}`;
  return text.replace(ATTRIBUTE, (attribute, name: string, equals: string) => {
    if (HARMLESS_ATTRIBUTES.has(name)) return attribute;
    return isSecret(name) || isSecret(tag.name) ? `${name}${equals}"${MASK}"` : attribute;
  });
}

/**
 * The place at which a secret element's own closing tag begins; the end of the text if it has none.
 */
function findSecretEnd(xml: string, from: number, name: string): number {
  let depth = 1;
  let position = from;
  while (position < xml.length) {
    const start = findNextMarkup(xml, skipCommentsAndCdata(xml, position));
    const tag = readTag(xml, start);
    if (isSameName(tag.name, name) && !tag.isEmpty) depth += tag.isClosing ? -1 : 1;
    if (depth === 0) return start;
    position = tag.end;
  }
  return xml.length;
}

/**
 * The place after the comments and CDATA sections before the next tag: what seems a tag inside them
 * is not one.
 */
function skipCommentsAndCdata(xml: string, from: number): number {
  let position = from;
  for (;;) {
    const start = findNextMarkup(xml, position);
    const closing = xml.startsWith('<![CDATA[', start)
      ? ']]>'
      : xml.startsWith('<!--', start)
        ? '-->'
        : null;
    if (closing === null) return start;
    const end = xml.indexOf(closing, start);
    if (end === -1) return xml.length;
    position = end + closing.length;
  }
}

function findNextMarkup(xml: string, from: number): number {
  const index = xml.indexOf('<', from);
  return index === -1 ? xml.length : index;
}

function readTag(xml: string, start: number): Tag {
  const {end, isWhole} = findTagEnd(xml, start);
  const [, slash = '', name = ''] = TAG_NAME.exec(xml.slice(start, end)) ?? [];
  return {name, isClosing: slash !== '', isEmpty: isWhole && xml[end - 2] === '/', isWhole, end};
}

/**
 * The place after the `>` that ends a tag, quoted ones skipped. Without one, the place of the next
 * `<`, which no tag can contain.
 */
function findTagEnd(xml: string, start: number): {end: number; isWhole: boolean} {
  let quote = '';
  for (let at = start + 1; at < xml.length; at++) {
    const char = xml[at] ?? '';
    if (char === '<') return {end: at, isWhole: false};
    if (char === '>' && quote === '') return {end: at + 1, isWhole: true};
    if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
  }
  return {end: xml.length, isWhole: false};
}

function isSameName(first: string, second: string): boolean {
  return first.replaceAll('-', '_').toLowerCase() === second.replaceAll('-', '_').toLowerCase();
}
