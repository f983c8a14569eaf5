// The ways in: a key, as systems have one; a link that a terminal printed; and the way out.

import {html} from '@remix-run/html-template';
import type {FastifyInstance, FastifyRequest} from 'fastify';
import {endSession, useApiKey, useSignInCode} from '../accounts/access.ts';
import type {ConsoleDeps} from './console-deps.ts';
import {drawPlain} from './draw-layout.ts';
import {checkForm, checkOrigin} from './guard.ts';
import {ownPath} from './own-path.ts';
import {type Fields, readFields} from './read-fields.ts';
import {Refused} from './refused.ts';
import {Attempts} from './sign-in-attempts.ts';
import {forgetCookie, signIn, viewerOf} from './viewers.ts';

const open = {config: {isOpen: true}} as const;

export function addSignIn(app: FastifyInstance, deps: ConsoleDeps): void {
  const attempts = new Attempts();
  app.get('/sign-in', open, async (request, reply) => {
    const {back, code} = request.query as Fields;
    if (code !== undefined) {
      await takeCode(request, code, {deps, attempts}).then((person) =>
        signIn(reply, {...person, ...fromAnywhere, address: request.ip}, deps),
      );
      return await reply.redirect(ownPath(back), 303);
    }
    return await reply.type('text/html; charset=utf-8').send(drawSignIn(ownPath(back)));
  });
  app.post('/sign-in', open, async (request, reply) => {
    const {key = '', back} = readFields(request.body);
    checkOrigin(request, deps.known);
    const found = await takeKey(request, key.trim(), {deps, attempts});
    await signIn(reply, {...found, wayIn: 'key', address: request.ip}, deps);
    return await reply.redirect(ownPath(back), 303);
  });
  app.post('/sign-out', async (request, reply) => {
    const viewer = viewerOf(request);
    checkForm(request, {viewer, formToken: readFields(request.body).form, known: deps.known});
    await endSession(deps.pools.writes, viewer.sessionId);
    forgetCookie(reply);
    return await reply.redirect('/sign-in', 303);
  });
}

const fromAnywhere = {wayIn: 'link', apiKeyId: null, accountId: null, masks: false} as const;

interface Trying {
  readonly deps: Pick<ConsoleDeps, 'pools'>;
  readonly attempts: Attempts;
}

async function takeKey(request: FastifyRequest, key: string, {deps, attempts}: Trying) {
  checkTries(request, {attempts, secret: key});
  const found = await useApiKey(deps.pools.writes, key);
  if (found !== null) return found;
  attempts.noteFailure(attemptOf(request, key));
  throw new Refused(401, {
    title: 'This key opens nothing',
    text: 'It was mistyped, or revoked. fieldmirror keys add NAME --role viewer makes one.',
    ways: [{href: '/sign-in', label: 'Try again'}],
  });
}

async function takeCode(request: FastifyRequest, code: string, {deps, attempts}: Trying) {
  checkTries(request, {attempts, secret: code});
  const found = await useSignInCode(deps.pools.writes, code);
  if (found !== null) return found;
  attempts.noteFailure(attemptOf(request, code));
  throw new Refused(401, {
    title: 'This link opens nothing any more',
    text: 'A link is good once, for ten minutes. fieldmirror open prints another one.',
    ways: [{href: '/sign-in', label: 'Sign in with a key'}],
  });
}

/** The letters of a key that tell it from others, and guess nothing of the rest. */
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
  {attempts, secret}: {readonly attempts: Attempts; readonly secret: string},
): void {
  if (attempts.mayTry(attemptOf(request, secret))) return;
  throw new Refused(429, {
    title: 'This key was wrong too often',
    text: 'Keys that begin like it are refused from this address for a minute. Check the key, and try again then.',
    ways: [{href: '/sign-in', label: 'Sign in'}],
  });
}

function drawSignIn(back: string): string {
  return drawPlain(
    'Sign in',
    html`<form method="post" action="/sign-in" class="sign-in">
  <input type="hidden" name="back" value="${back}">
  <label>Key <input type="password" name="key" autocomplete="current-password" required autofocus></label>
  <button>Sign in</button>
</form>
<p>A key is made in a terminal: <code>fieldmirror keys add NAME --role viewer</code>. So is a link that signs in once: <code>fieldmirror open</code>.</p>`,
  );
}
