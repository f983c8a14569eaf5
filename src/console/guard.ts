// Who may come in. A page of another site that sends its visitor's browser here finds a closed
// door: the address must be one of ours, the cookie is for our own pages alone, and a form must
// have been drawn for this session.

import type {FastifyRequest} from 'fastify';
import {type KnownNames, namingHint} from '../http/known-names.ts';
import {Refused} from './refused.ts';
import type {Viewer} from './viewer.ts';

/**
 * Refuses a name that nobody gave this server.
 * @throws {Refused}
 */
export function checkHost({hostname}: FastifyRequest, known: KnownNames): void {
  if (known.has(hostname)) return;
  throw new Refused(421, {
    title: 'This console does not go by that name',
    text: `It was asked as ${JSON.stringify(hostname)}. ${namingHint}`,
  });
}

/**
 * Refuses a text with a NUL, which Postgres cannot hold: in an address or in a field of a form.
 * @throws {Refused}
 */
export function checkTexts({query, params, body}: FastifyRequest): void {
  const texts = [query, params, body].flatMap((given) => Object.values(given ?? {}).flat());
  if (!texts.some((text) => typeof text === 'string' && text.includes('\0'))) return;
  throw new Refused(422, {
    title: 'This is no text',
    text: 'Expected letters, digits and signs, got a NUL among them, which no database holds. Nothing was done.',
  });
}

/**
 * Refuses a form that was not drawn by this console for this session.
 * @throws {Refused}
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
  throw new Refused(403, {
    title: 'This form is not of your session',
    text: 'Nothing was done. Go back, load the page anew, and send the form again.',
  });
}

/**
 * Refuses what a page of another origin sends. A proxy may ask us by another name than people use.
 * @throws {Refused}
 */
export function checkOrigin(request: FastifyRequest, {publicHost}: KnownNames): void {
  const {origin, 'sec-fetch-site': site} = request.headers;
  const isOurs =
    (origin === undefined || [request.host, publicHost].includes(hostOf(origin))) &&
    (site === undefined || site === 'same-origin' || site === 'none');
  if (isOurs) return;
  throw new Refused(403, {
    title: 'This form came from another site',
    text: 'Nothing was done. Open the console itself, and send the form from there.',
  });
}

/** An origin that is none, as `null`, is nobody's. */
function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
}
