// Rows are found by words: an index over an array of words takes less than half of what trigrams
// take, and needs no extension, which a role may not be allowed to make. A word is found by its
// beginning. Phone numbers are words that are read from their end, so that a number without its
// area code is the beginning of one. See docs/scale.md "Finding a record".

import pg from 'pg';
import type {Searched} from '../streams/table.ts';

/**
 * Characters of a text that are searched: a row must not be refused because a word is too long for
 * an index.
 */
const longest = 200;

/**
 * SQL for the words of a row, as its index has them: a query must say the same to be answered by
 * it.
 */
export function searchedWords({words, phones = []}: Searched): string {
  const texts = [join(words, ' '), ...(phones.length === 0 ? [] : [backwards(join(phones, ','))])];
  return `array_to_tsvector(${splitWords(texts.join(` || ' ' || `))})`;
}

/** SQL for the words of a text: small letters, without what stands between them; no empty one. */
export function splitWords(text: string): string {
  return `array_remove(regexp_split_to_array(lower(${text}), '\\W+'::text), ''::text)`;
}

function join(columns: readonly string[], between: string): string {
  const texts = columns.map(
    (name) => `COALESCE("left"(${pg.escapeIdentifier(name)}, ${longest}), ''::text)`,
  );
  return texts.join(` || '${between}' || `);
}

/**
 * Of phone numbers only what people write between the digits is dropped: a regular expression would
 * cost twice as much.
 */
function backwards(phones: string): string {
  return `reverse(translate(${phones}, ' ()-./+'::text, ''::text))`;
}
