/** One pattern of several that follow each other, with the flags of the first. */
export function inSequence(...parts: readonly RegExp[]): RegExp {
  return new RegExp(parts.map(({source}) => source).join(''), parts[0]?.flags);
}
