// The text of a request body. The client has a decoder of its own (src/api/document-text.ts), on
// purpose another one.

/**
 * Decodes by RFC 7303: by byte order mark, else by the charset of the `Content-Type`, else by the
 * XML declaration, else as UTF-8.
 */
export function decodeBody(
  body: Buffer,
  charset: string | null,
): {readonly text: string} | {readonly problem: string} {
  const encoding = encodingOf(body, charset);
  // The standard of the web takes ISO-8859-1 for windows-1252; XML does not.
  if (/^(iso-8859-1|latin1)$/.test(encoding)) return {text: body.toString('latin1')};
  try {
    return {text: new TextDecoder(labelOf(encoding), {fatal: true}).decode(body)};
  } catch (cause) {
    if (cause instanceof RangeError) return {problem: `unknown encoding ${encoding}: send UTF-8`};
    return {problem: `the body is not ${encoding.toUpperCase()}`};
  }
}

function encodingOf(body: Buffer, charset: string | null): string {
  const head = body.subarray(0, 3).toString('hex');
  if (head === 'efbbbf') return 'utf-8';
  if (head.startsWith('fffe') || head.startsWith('3c00')) return 'utf-16le';
  if (head.startsWith('feff') || head.startsWith('003c')) return 'utf-16be';
  const declared = /^<\?xml[^>]*\sencoding\s*=\s*["']([^"']*)["']/.exec(
    body.toString('latin1', 0, 200),
  );
  return (charset ?? declared?.[1] ?? 'utf-8').toLowerCase();
}

/** US-ASCII bytes are UTF-8; UTF-16 without a mark of its order is big endian (RFC 2781). */
function labelOf(encoding: string): string {
  if (encoding === 'us-ascii') return 'utf-8';
  return encoding === 'utf-16' ? 'utf-16be' : encoding;
}
