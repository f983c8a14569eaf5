/**
 * Anchors of headings as GitHub makes them: lower case, hyphens for spaces, no punctuation, and a
 * number from the second of a name.
 */
export function makeAnchors(): (title: string) => string {
  const seen = new Map<string, number>();
  return (title) => {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  };
}
