/** A word as a shell takes it: `'import 4711'`. */
export function quoteWord(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
