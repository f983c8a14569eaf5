/**
 * The moment of a `Date` header, in milliseconds since 1970; null when there is none, or none that
 * can be read.
 */
export function readDate(header: string | null): number | null {
  if (header === null || !/^[A-Z][a-z]+, /.test(header)) return null;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : at;
}
