/** One pattern of several that follow each other. */
export function inSequence(...parts: readonly RegExp[]): RegExp {
  return new RegExp(parts.map(({source}) => source).join(''));
}
