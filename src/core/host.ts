/**
 * Whether a text is the host of an address alone. Its port stands beside it, but for that of the
 * scheme.
 */
export function isHost(text: string): boolean {
  return ['https', 'http'].some((scheme) => {
    const address = `${scheme}://${text}`;
    return URL.canParse(address) && new URL(address).host === text;
  });
}
