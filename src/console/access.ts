// The viewers of the console, their rights, and the refusal of requests. If a page of another site
// sends its visitor's browser here, the request is refused. The host name must be one of ours, and
// the cookie is sent by our own pages alone. A form must have been rendered for this session.

import {createHash} from 'node:crypto';
import type {FastifyRequest} from 'fastify';
import type {Session} from '../accounts/access.ts';
import type {Account} from '../accounts/accounts.ts';
import {UsageError} from '../core/errors.ts';
import {type Role, roles} from '../core/names.ts';
import {type KnownNames, namingHint} from '../http/keys.ts';

/** A person who is signed in to the console. */
export interface Viewer extends Session {
  /** Proves that a form was rendered for this session: another page cannot know it. */
  readonly formToken: string;
}

/** @param cookie - the text of the session's cookie */
export function makeViewer(session: Session, cookie: string): Viewer {
  return {...session, formToken: createHash('sha256').update(`form:${cookie}`).digest('base64url')};
}

/** Each role may do everything that the role before it may do. */
export function mayActAs({role}: Pick<Session, 'role'>, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/**
 * @param back - the page that a refused viewer gets a link to
 * @throws {AccessRefused} the viewer may not act as that role
 */
export function checkRole(viewer: Viewer, role: Role, back: string): void {
  if (mayActAs(viewer, role)) return;
  throw new AccessRefused(403, {
    title: 'Your key may not do this',
    text: `It takes the role ${role}, and yours is ${viewer.role}. Nothing was done.`,
    ways: [{href: back, label: 'Back'}],
  });
}

/**
 * The account of that name among those that the viewer may see.
 * @throws {AccessRefused} there is none
 */
export function findSeenAccount(seen: readonly Account[], name: string | undefined): Account {
  const account = seen.find((candidate) => candidate.name === name);
  if (account === undefined) throw makeNotFound(`account ${JSON.stringify(name ?? '')}`);
  return account;
}

/** @throws {UsageError} nothing is requested of that account: it is paused or stopped */
export function refuseInactive({name, state}: Account): void {
  if (state === 'active') return;
  throw new UsageError(`account ${name} is ${state}, so nothing is requested; resume it first`);
}

/**
 * Refuses a host name that is not one of this server's.
 * @throws {AccessRefused}
 */
export function checkHost({hostname}: FastifyRequest, knownNames: KnownNames): void {
  if (knownNames.has(hostname)) return;
  throw new AccessRefused(421, {
    title: 'This console does not go by that name',
    text: `It was asked as ${JSON.stringify(hostname)}. ${namingHint}`,
  });
}

/**
 * Refuses a text with a NUL, which Postgres cannot hold: in an address or in a field of a form.
 * @throws {AccessRefused}
 */
export function checkTexts({query, params, body}: FastifyRequest): void {
  const texts = [query, params, body].flatMap((fields) => Object.values(fields ?? {}).flat());
  if (!texts.some((text) => typeof text === 'string' && text.includes('\0'))) return;
  throw new AccessRefused(422, {
    title: 'This is no text',
    text:
      'Expected letters, digits and signs, got a NUL among them, which no database holds. ' +
      'Nothing was done.',
  });
}

/**
 * Refuses a form that this console did not render for this session.
 * @throws {AccessRefused}
 */
export function checkForm(
  request: FastifyRequest,
  {
    viewer,
    formToken,
    known,
  }: {readonly viewer: Viewer; readonly formToken: unknown; readonly known: KnownNames},
): void {
  checkOrigin(request, known);
  if (formToken === viewer.formToken) return;
  throw new AccessRefused(403, {
    title: 'This form is not of your session',
    text: 'Nothing was done. Go back, reload the page, and send the form again.',
  });
}

/**
 * Refuses a request that a page of another origin sends. A proxy may use another host name for us
 * than people do.
 * @throws {AccessRefused}
 */
export function checkOrigin(request: FastifyRequest, {publicHost}: KnownNames): void {
  const {origin, 'sec-fetch-site': site} = request.headers;
  const isOurs =
    (origin === undefined || [request.host, publicHost].includes(hostOf(origin))) &&
    (site === undefined || site === 'same-origin' || site === 'none');
  if (isOurs) return;
  throw new AccessRefused(403, {
    title: 'This form came from another site',
    text: 'Nothing was done. Open the console itself, and send the form from there.',
  });
}

/** The host of an origin; '' for an invalid one such as `null`, which matches no host. */
function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
}

const placeholderOrigin = 'http://console.invalid';

/**
 * A way back to one of our own pages: a path, never another site. The path is checked as a browser
 * will read it. After its dots are resolved, `/.//evil.example` is `//evil.example`, the address of
 * another host.
 * @param address - as it came; anything else than a path becomes the overview
 */
export function toOwnPath(address: string | undefined): string {
  if (
    address === undefined ||
    !address.startsWith('/') ||
    !URL.canParse(address, placeholderOrigin)
  )
    return '/';
  const {origin, pathname, search} = new URL(address, placeholderOrigin);
  return origin === placeholderOrigin && !pathname.startsWith('//') ? `${pathname}${search}` : '/';
}

export type FormFields = Readonly<Record<string, string | undefined>>;

/**
 * The fields of an address or a form, each as one text. If a name comes twice, the last value
 * counts. Empty values are left out.
 * @param parsed - as the server parsed it
 */
export function readFormFields(parsed: unknown): FormFields {
  return Object.fromEntries(
    Object.entries(parsed ?? {}).flatMap(([name, value]) => {
      const lastValue: unknown = Array.isArray(value) ? value.at(-1) : value;
      return typeof lastValue === 'string' && lastValue !== '' ? [[name, lastValue]] : [];
    }),
  );
}

/** A link to a page where the person can continue. */
export interface PageLink {
  readonly href: string;
  readonly label: string;
}

interface RefusalPage {
  readonly title: string;
  readonly text: string;
  readonly ways?: readonly PageLink[];
}

/**
 * The refusal of a request. Its page gives the reason, and links to pages where the person can
 * continue.
 */
export class AccessRefused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly title: string;
  readonly text: string;
  readonly ways: readonly PageLink[];

  constructor(status: number, {title, text, ways = []}: RefusalPage, options: ErrorOptions = {}) {
    super(`${title}: ${text}`, options);
    this.status = status;
    this.title = title;
    this.text = text;
    this.ways = ways;
  }
}

/** @param nearestLinks - links to what may have been meant */
export function makeNotFound(
  subject: string,
  nearestLinks: readonly PageLink[] = [],
): AccessRefused {
  const text =
    nearestLinks.length === 0
      ? `There is no ${subject}.`
      : `There is no ${subject}. Nearest to it:`;
  return new AccessRefused(404, {title: 'Not found', text, ways: nearestLinks});
}
