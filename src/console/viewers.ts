// From a request to the person behind it: by the cookie of a session, or by a proxy that has signed
// the person in.

import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import {openSession, readSession, type Session} from '../accounts/access.ts';
import {roles} from '../accounts/roles.ts';
import type {ConsoleDeps, SignInProxy} from './console-deps.ts';
import {Refused} from './refused.ts';
import {SessionReads} from './session-reads.ts';
import {makeViewer, type Viewer} from './viewer.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Shown to somebody who is not signed in. */
    isOpen?: boolean;
  }
}

const cookieName = 'fieldmirror';
const longestName = 200;
const viewers = new WeakMap<FastifyRequest, Viewer>();

/** Lets nobody in who is not signed in, but for routes that are open. */
export function requireViewer(app: FastifyInstance, deps: ConsoleDeps): void {
  const sessions = new SessionReads(deps.pools.reads);
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isOpen === true) return;
    const viewer =
      (await findViewer(request, {sessions, proxy: deps.proxy})) ??
      (await admit(request, reply, deps));
    if (viewer !== null) {
      viewers.set(request, viewer);
      return;
    }
    if (request.method !== 'GET') throw new Refused(401, signedOut);
    const back = request.url === '/' ? '' : `?back=${encodeURIComponent(request.url)}`;
    await reply.redirect(`/sign-in${back}`, 303);
  });
}

const signedOut = {
  title: 'You are signed out',
  text: 'Nothing was done: sign in, and do it again.',
  ways: [{href: '/sign-in', label: 'Sign in'}],
};

/** The person behind a request of a route that is not open. */
export function viewerOf(request: FastifyRequest): Viewer {
  const viewer = viewers.get(request);
  if (viewer === undefined) throw new Refused(401, signedOut);
  return viewer;
}

/** The token of the session that a request came with. */
export function tokenOf(request: FastifyRequest): string {
  return request.cookies[cookieName] ?? '';
}

/** Signs somebody in: from now on the browser brings the cookie, to our own pages alone. */
export async function signIn(
  reply: FastifyReply,
  session: Parameters<typeof openSession>[1],
  {pools, publicUrl}: Pick<ConsoleDeps, 'pools' | 'publicUrl'>,
): Promise<string> {
  const token = (await openSession(pools.writes, session)).reveal();
  void reply.setCookie(cookieName, token, {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: publicUrl?.protocol === 'https:',
  });
  return token;
}

export function forgetCookie(reply: FastifyReply): void {
  void reply.clearCookie(cookieName, {path: '/'});
}

async function findViewer(
  request: FastifyRequest,
  {sessions, proxy}: {readonly sessions: SessionReads; readonly proxy: SignInProxy | null},
): Promise<Viewer | null> {
  const token = tokenOf(request);
  const session = token === '' ? null : await sessions.read(token);
  if (session === null) return null;
  // The proxy says each time who it is: a session of somebody else, or of a role of before, is
  // over.
  if (session.wayIn === 'proxy' && !isSame(session, readProxy(request, proxy))) return null;
  return makeViewer(session, token);
}

/** Signs in whom the proxy has signed in. */
async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ConsoleDeps,
): Promise<Viewer | null> {
  const person = readProxy(request, deps.proxy);
  if (person === null) return null;
  const token = await signIn(
    reply,
    {...person, wayIn: 'proxy', apiKeyId: null, accountId: null, masks: false, address: request.ip},
    deps,
  );
  const session = await readSession(deps.pools.writes, token);
  return session === null ? null : makeViewer(session, token);
}

type Person = Pick<Session, 'name' | 'role'>;

function readProxy({socket, headers}: FastifyRequest, proxy: SignInProxy | null): Person | null {
  if (proxy === null || !proxy.addresses.includes(plainAddress(socket.remoteAddress))) return null;
  const name = headers[proxy.nameHeader];
  const role = roles.find((known) => known === headers[proxy.roleHeader]);
  if (typeof name !== 'string' || name === '' || name.length > longestName || role === undefined)
    return null;
  return {name, role};
}

function isSame(session: Person, person: Person | null): boolean {
  return person !== null && person.name === session.name && person.role === session.role;
}

/** `::ffff:10.0.0.5` is 10.0.0.5, as a socket of both families has it. */
function plainAddress(address = ''): string {
  return address.replace(/^::ffff:/, '');
}
