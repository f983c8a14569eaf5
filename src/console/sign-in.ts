// Finds the person behind a request: by the cookie of a session, or by a proxy that has signed the
// person in. A person signs in with a key, as systems have one, or with a link that a terminal
// printed. The sign-out is here, too.

import {setImmediate as nextTurn} from 'node:timers/promises';
import {html} from '@remix-run/html-template';
import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import {
  endSession,
  openSession,
  readSession,
  readSessions,
  type Session,
  useApiKey,
  useSignInCode,
} from '../accounts/access.ts';
import {roles} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  AccessRefused,
  checkForm,
  checkOrigin,
  type FormFields,
  makeViewer,
  readFormFields,
  toOwnPath,
  type Viewer,
} from './access.ts';
import {renderPlain} from './layout.ts';
import type {ConsoleDeps, SignInProxy} from './page.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route also answers people who are not signed in. */
    isOpen?: boolean;
    /** Whether an open page has the frame for a person who is signed in. */
    knowsViewer?: boolean;
  }
}

const cookieName = 'fieldmirror';
const longestName = 200;
const viewers = new WeakMap<FastifyRequest, Viewer>();

/** Requires a person who is signed in, except on open routes. */
export function requireViewer(app: FastifyInstance, deps: ConsoleDeps): void {
  const sessions = new SessionReads(deps.pools.reads);
  app.addHook('onRequest', async (request, reply) => {
    const {isOpen, knowsViewer} = request.routeOptions.config;
    if (isOpen === true) {
      if (knowsViewer === true) await rememberViewer(request, {sessions, proxy: deps.proxy});
      return;
    }
    const viewer =
      (await findViewer(request, {sessions, proxy: deps.proxy})) ??
      (await signInByProxy(request, reply, deps));
    if (viewer !== null) {
      viewers.set(request, viewer);
      return;
    }
    if (request.method !== 'GET') throw new AccessRefused(401, signedOut);
    await reply.redirect(linkToSignIn(request.url), 303);
  });
}

/**
 * Finds the viewer of an open page. The page is also served while the warehouse cannot name the
 * viewer.
 */
async function rememberViewer(
  request: FastifyRequest,
  sources: Parameters<typeof findViewer>[1],
): Promise<void> {
  const viewer = await findViewer(request, sources).catch(() => null);
  if (viewer !== null) viewers.set(request, viewer);
}

const signedOut = {
  title: 'You are signed out',
  text: 'Nothing was done: sign in, and do it again.',
  ways: [{href: '/sign-in', label: 'Sign in'}],
};

/** The person behind a request, if it is known by then. */
export function knownViewerOf(request: FastifyRequest): Viewer | undefined {
  return viewers.get(request);
}

/** The person behind a request of a route that is not open. */
export function viewerOf(request: FastifyRequest): Viewer {
  const viewer = knownViewerOf(request);
  if (viewer === undefined) throw new AccessRefused(401, signedOut);
  return viewer;
}

/** The token of the session that a request came with. */
export function tokenOf(request: FastifyRequest): string {
  return request.cookies[cookieName] ?? '';
}

/** Signs a person in: from now on the browser sends the cookie, from our own pages alone. */
async function signIn(
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

function forgetCookie(reply: FastifyReply): void {
  void reply.clearCookie(cookieName, {path: '/'});
}

async function findViewer(
  request: FastifyRequest,
  {sessions, proxy}: {readonly sessions: SessionReads; readonly proxy: SignInProxy | null},
): Promise<Viewer | null> {
  const token = tokenOf(request);
  const session = token === '' ? null : await sessions.read(token);
  if (session === null) return null;
  // The proxy names the person in each request. A session of another person, or with an earlier
  // role, is no longer valid.
  if (session.wayIn === 'proxy' && !isSamePerson(session, readProxy(request, proxy))) return null;
  return makeViewer(session, token);
}

/** Signs in the person whom the proxy has signed in. */
async function signInByProxy(
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
  const role = roles.find((candidate) => candidate === headers[proxy.roleHeader]);
  if (typeof name !== 'string' || name === '' || name.length > longestName || role === undefined)
    return null;
  return {name, role};
}

function isSamePerson(session: Person, person: Person | null): boolean {
  return person !== null && person.name === session.name && person.role === session.role;
}

/** `10.0.0.5` for `::ffff:10.0.0.5`, as a socket of both address families reports it. */
function plainAddress(address = ''): string {
  return address.replace(/^::ffff:/, '');
}

type Waiting = Map<string, PromiseWithResolvers<Session | null>>;

/**
 * Reads the session of each request; requests that arrive together are read in one statement. If
 * fifty pages are notified of one change, they request themselves at once. No session is cached, so
 * that one that has ended is refused at once.
 */
export class SessionReads {
  readonly #db: Queryable;
  #waiting: Waiting = new Map();
  #isReading = false;

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** See `readSession`. */
  read(token: string): Promise<Session | null> {
    const waiting = this.#waiting.get(token) ?? Promise.withResolvers<Session | null>();
    this.#waiting.set(token, waiting);
    if (!this.#isReading) void this.#readOn();
    return waiting.promise;
  }

  /** Runs one statement at a time: requests that arrive in the meantime wait for the next one. */
  async #readOn(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.size > 0) {
      // Requests that came in the same turn of the event loop are read together.
      await nextTurn();
      const waiting = this.#waiting;
      this.#waiting = new Map();
      await this.#readAll(waiting);
    }
    this.#isReading = false;
  }

  async #readAll(waiting: Waiting): Promise<void> {
    try {
      const sessions = await readSessions(this.#db, [...waiting.keys()]);
      for (const [token, {resolve}] of waiting) resolve(sessions.get(token) ?? null);
    } catch (error) {
      for (const {reject} of waiting.values()) reject(error);
    }
  }
}

const openRoute = {config: {isOpen: true}} as const;

export function addSignIn(app: FastifyInstance, deps: ConsoleDeps): void {
  const attempts = new Attempts();
  app.get<{Querystring: FormFields}>('/sign-in', openRoute, async (request, reply) => {
    const {back: wantedBack, code} = request.query;
    const back = toOwnPath(wantedBack);
    if (code !== undefined) {
      await checkCode(request, code, {deps, attempts, back}).then((person) =>
        signIn(reply, {...person, ...linkSession, address: request.ip}, deps),
      );
      return await reply.redirect(back, 303);
    }
    return await reply.type('text/html; charset=utf-8').send(renderSignIn(back));
  });
  app.post('/sign-in', openRoute, async (request, reply) => {
    const {key = '', back: wantedBack} = readFormFields(request.body);
    const back = toOwnPath(wantedBack);
    checkOrigin(request, deps.known);
    const keyOwner = await checkKey(request, key.trim(), {deps, attempts, back});
    await signIn(reply, {...keyOwner, wayIn: 'key', address: request.ip}, deps);
    return await reply.redirect(back, 303);
  });
  app.post('/sign-out', async (request, reply) => {
    const viewer = viewerOf(request);
    checkForm(request, {viewer, formToken: readFormFields(request.body).form, known: deps.known});
    await endSession(deps.pools.writes, viewer.sessionId);
    forgetCookie(reply);
    return await reply.redirect('/sign-in', 303);
  });
}

const linkSession = {wayIn: 'link', apiKeyId: null, accountId: null, masks: false} as const;

interface SignInDeps {
  readonly deps: Pick<ConsoleDeps, 'pools'>;
  readonly attempts: Attempts;
  /** The path that is shown once the person is signed in. */
  readonly back: string;
}

async function checkKey(request: FastifyRequest, key: string, {deps, attempts, back}: SignInDeps) {
  checkTries(request, {attempts, back, secret: key});
  const keyOwner = await useApiKey(deps.pools.writes, key);
  if (keyOwner !== null) return keyOwner;
  attempts.noteFailure(attemptOf(request, key));
  throw new AccessRefused(401, {
    title: 'This key opens nothing',
    text: 'It was mistyped, or revoked. fieldmirror keys add NAME --role viewer makes one.',
    ways: [{href: linkToSignIn(back), label: 'Try again'}],
  });
}

async function checkCode(
  request: FastifyRequest,
  code: string,
  {deps, attempts, back}: SignInDeps,
) {
  checkTries(request, {attempts, back, secret: code});
  const person = await useSignInCode(deps.pools.writes, code);
  if (person !== null) return person;
  attempts.noteFailure(attemptOf(request, code));
  throw new AccessRefused(401, {
    title: 'This sign-in link has expired or was already used',
    text: 'A link is good once, for ten minutes. fieldmirror open prints another one.',
    ways: [{href: linkToSignIn(back), label: 'Sign in with a key'}],
  });
}

/** The characters of a key that distinguish it from others, and reveal nothing of the rest. */
const prefixLength = 8;

/**
 * People behind one proxy share its address, and a wrong key of one of them must not lock out the
 * others.
 */
function attemptOf({ip}: FastifyRequest, secret: string): string {
  return `${ip} ${secret.slice(0, prefixLength)}`;
}

function checkTries(
  request: FastifyRequest,
  {attempts, back, secret}: Omit<SignInDeps, 'deps'> & {readonly secret: string},
): void {
  if (attempts.mayTry(attemptOf(request, secret))) return;
  throw new AccessRefused(429, {
    title: 'This key was wrong too often',
    text:
      'Keys that begin like it are refused from this address for a minute. ' +
      'Check the key, and try again then.',
    ways: [{href: linkToSignIn(back), label: 'Sign in'}],
  });
}

/** @param back - a path of the console */
function linkToSignIn(back: string): string {
  return back === '/' ? '/sign-in' : `/sign-in?back=${encodeURIComponent(back)}`;
}

function renderSignIn(back: string): string {
  return renderPlain(
    'Sign in',
    html`<form method="post" action="/sign-in" class="sign-in">
  <input type="hidden" name="back" value="${back}">
  <label>Key
    <input type="password" name="key" autocomplete="current-password" required autofocus></label>
  <button>Sign in</button>
</form>
<p>No key yet? In a terminal, <code>fieldmirror keys add NAME --role viewer</code> makes one, and
<code>fieldmirror open</code> prints a link that signs in once.</p>`,
  );
}

const failureLimit = 10;
const failureWindowMs = 60_000;
/** Sources that are remembered; beyond them the oldest is forgotten. */
const mostSources = 10_000;

/**
 * Counts wrong keys by their source, and allows ten a minute. No key can be guessed anyway, because
 * keys are random.
 */
export class Attempts {
  readonly #failures = new Map<string, number[]>();
  readonly #now: () => number;

  /** @param now - milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @param source - an address, and the beginning of the key */
  mayTry(source: string): boolean {
    return this.#recent(source).length < failureLimit;
  }

  noteFailure(source: string): void {
    const recent = [...this.#recent(source), this.#now()];
    this.#failures.delete(source);
    this.#failures.set(source, recent);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > mostSources && oldest !== undefined) this.#failures.delete(oldest);
  }

  #recent(source: string): number[] {
    const since = this.#now() - failureWindowMs;
    return (this.#failures.get(source) ?? []).filter((failedAt) => failedAt > since);
  }
}
