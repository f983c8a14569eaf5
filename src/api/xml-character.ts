// The complement of XML 1.0's Char. With the u flag a lone surrogate counts as a character, and is
// caught.
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const ALL_FORBIDDEN = new RegExp(FORBIDDEN.source, 'gu');

/**
 * The first character that XML 1.0 does not have, `{name: 'U+0000', at: 7}`; null when all are
 * fine.
 */
export function findForbidden(text: string): {readonly name: string; readonly at: number} | null {
  const found = FORBIDDEN.exec(text);
  if (found === null) return null;
  const code = found[0].codePointAt(0) ?? 0;
  return {name: `U+${code.toString(16).toUpperCase().padStart(4, '0')}`, at: found.index};
}

/**
 * The text with U+FFFD for characters that XML 1.0 does not have; Postgres refuses some of them,
 * too.
 */
export function replaceForbidden(text: string): string {
  return text.replaceAll(ALL_FORBIDDEN, '\ufffd');
}
