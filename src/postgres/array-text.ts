/**
 * Numbers as the text of a Postgres array. The driver would look through each for signs to escape,
 * which takes as long as all else that is done with a key.
 * @param numbers - digits, or several such joined by colons
 */
export function toArrayText(numbers: readonly string[]): string {
  return `{${numbers.join(',')}}`;
}
