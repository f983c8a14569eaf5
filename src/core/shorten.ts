/**
 * At most so many characters of a text; the sign of what was left out also tells that a secret in
 * it may be cut.
 */
export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
