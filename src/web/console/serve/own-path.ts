/**
 * A way back that leads to a page of ours: a path, never another site.
 * @param given - as it came; anything else than a path becomes the overview
 */
export function ownPath(given: string | undefined): string {
  if (given === undefined || !given.startsWith('/')) return '/';
  const base = 'http://console.invalid';
  const url = URL.canParse(given, base) ? new URL(given, base) : null;
  return url?.origin === base ? `${url.pathname}${url.search}` : '/';
}
