const base = 'http://console.invalid';

/**
 * A way back that leads to a page of ours: a path, never another site. The path is checked as a
 * browser will read it: after its dots are resolved, `/.//evil.example` is `//evil.example`, the
 * address of another host.
 * @param given - as it came; anything else than a path becomes the overview
 */
export function ownPath(given: string | undefined): string {
  if (given === undefined || !given.startsWith('/') || !URL.canParse(given, base)) return '/';
  const {origin, pathname, search} = new URL(given, base);
  return origin === base && !pathname.startsWith('//') ? `${pathname}${search}` : '/';
}
