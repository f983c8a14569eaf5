const base = 'http://console.invalid';

/**
 * A way back that leads to a page of ours: a path, never another site. The path is checked as a browser will read it: after
 * its dots are resolved, `/.//evil.example` is `//evil.example`, the address of another host.
 * @param given - as it came; anything else than a path becomes the overview
 */
export function ownPath(given: string | undefined): string {
  if (given === undefined || !given.startsWith('/') || !URL.canParse(given, base)) return '/';
  const {pathname, search} = new URL(given, base);
  const path = `${pathname}${search}`;
  const isOurs = URL.canParse(path, base) && new URL(path, base).origin === base && !path.startsWith('//');
  return isOurs && new URL(given, base).origin === base ? path : '/';
}
