/**
 * Tells the flaws of a document that stay where they are from those that end it. After a local one
 * the parser stands where it stood, so the end of the record is still found; after any other it may
 * have swallowed tags.
 * @returns for a message of saxes: why the record cannot be taken, or null when the document cannot
 */
export function judgeFlaws(text: string): (message: string) => string | null {
  let isWhole: boolean | null = null;
  return (message) => {
    if (message === 'disallowed character.') return 'a character that XML forbids';
    if (message === 'undefined entity.') return 'an unknown entity';
    if (message !== 'malformed character entity.') return null;
    // The same message for `&#0;` and for `&#12</name><name>;`, which reads up to the next
    // semicolon.
    isWhole ??= !BROKEN_REFERENCE.test(text);
    return isWhole ? 'a reference to a character that XML forbids' : null;
  };
}

// Strict beyond need: a raw ampersand in CDATA or a comment counts. It is asked only of documents
// that have a flaw.
const BROKEN_REFERENCE = /&(?!(?:#\d+|#x[0-9a-fA-F]+|[A-Za-z_:][\w:.-]*);)/;
