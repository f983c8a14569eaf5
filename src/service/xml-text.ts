const needsCare = /[^\t\n\r\u0020-\u0025\u0027-\u003B\u003D\u003F-\uD7FF]/;
const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/**
 * A text as Ruby's Builder writes it: only `&`, `<`, `>` escaped; characters that XML 1.0 cannot
 * carry are dropped.
 */
export function escapeText(text: string): string {
  if (!needsCare.test(text)) return text;
  return text
    .replace(forbidden, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
