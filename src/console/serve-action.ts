import {html} from '@remix-run/html-template';
import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import pg from 'pg';
import {writeAudit} from '../accounts/access.ts';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {inTransaction} from '../postgres/database.ts';
import type {Action, Order, Outcome} from './action.ts';
import {checkRole} from './check-role.ts';
import type {ConsoleDeps} from './console-deps.ts';
import {drawPlain} from './draw-layout.ts';
import {checkForm} from './guard.ts';
import {ownPath} from './own-path.ts';
import {Refused} from './refused.ts';
import {keepSaid} from './said.ts';
import {readSeen} from './serve-page.ts';
import type {SharedReads} from './shared-reads.ts';
import type {Viewer} from './viewer.ts';
import {viewerOf} from './viewers.ts';

/**
 * How the functions of the warehouse refuse a decision: none of that number, another state, not
 * open to it; a name that cannot be, is taken, or that a view of somebody else stands on.
 */
const refusals: ReadonlySet<string | undefined> = new Set([
  ...['P0002', '55000', '22023', '23505', '23514'],
  ...['42602', '42701', '2BP01'],
]);

interface ActionDeps extends ConsoleDeps {
  readonly readings: SharedReads;
}

/** Serves an action: checks who sends the form, does it, and notes it in the same transaction. */
export function addAction(app: FastifyInstance, action: Action, deps: ActionDeps): void {
  app.post(action.path, async (request, reply) => {
    const viewer = viewerOf(request);
    const {
      form: formToken,
      back,
      ...fields
    } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
    checkForm(request, {viewer, formToken, known: deps.known});
    const from = ownPath(typeof back === 'string' ? back : undefined);
    checkRole(viewer, action.role, from);
    const done = await carryOut(action, {request, viewer, fields, deps}).catch((error: unknown) => {
      throw explain(error, from);
    });
    if (done.dropsReadings === true) deps.readings.forgetAll();
    const outcome = await finish(done, action, deps);
    if (outcome.once !== undefined) return await sendOnce(reply, outcome, outcome.once);
    keepSaid(reply, outcome.said);
    return await reply.redirect(outcome.to ?? from, 303);
  });
}

/** A secret is in this answer alone: never in a cookie, and no page shows it again. */
async function sendOnce(
  reply: FastifyReply,
  {said, to = '/'}: Outcome,
  secret: string,
): Promise<void> {
  const body = html`<p>${said}</p><pre tabindex="0">${secret}</pre><p>It is shown this once. <a href="${to}">Go on</a></p>`;
  await reply.type('text/html; charset=utf-8').send(drawPlain('Shown this once', body));
}

interface Carried {
  readonly request: FastifyRequest;
  readonly viewer: Viewer;
  readonly fields: unknown;
  readonly deps: ConsoleDeps;
}

async function carryOut(
  action: Action,
  {request, viewer, fields, deps}: Carried,
): Promise<Outcome> {
  const given = action.form.safeParse(fields);
  if (!given.success)
    throw new UsageError(given.error.issues.map(({message}) => message).join('; '));
  const seen = await readSeen(viewer, deps);
  const params = request.params as Readonly<Record<string, string>>;
  const order = {viewer, seen, params, given: given.data, doings: deps.doings};
  const ready = await prepare(action, order);
  return await inTransaction(deps.pools.writes, async (client) => {
    await client.query(
      `SELECT set_config('fieldmirror.writer', '', true), set_config('fieldmirror.person', $1, true),
              set_config('application_name', 'console: ' || $1, true)`,
      [viewer.name],
    );
    const outcome = await action.act(client, order, ready);
    const {sessionId, name, role} = viewer;
    const {subject, accountId, before = null, after = null} = outcome;
    const who = {sessionId, name, role, address: request.ip};
    await writeAudit(client, {...who, action: action.name, accountId, subject, before, after});
    return outcome;
  });
}

/** The action is committed: an error of what follows is no reason to say that nothing was done. */
async function finish(outcome: Outcome, {name}: Action, {log}: ConsoleDeps): Promise<Outcome> {
  if (outcome.afterwards === undefined) return outcome;
  const more = await outcome.afterwards().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    log.error({action: name, reason}, 'console: what follows an action failed');
    return `What follows it was not done: ${reason}.`;
  });
  return {...outcome, said: `${outcome.said} ${more}`};
}

/**
 * A service that is away, or refuses, is told as it told us: it is not the warehouse that is away.
 */
async function prepare(action: Action, order: Order<unknown>): Promise<unknown> {
  try {
    return await action.prepare?.(order);
  } catch (error) {
    if (error instanceof RetryableError || error instanceof FatalError)
      throw new UsageError(error.message, {cause: error});
    throw error;
  }
}

/** Somebody else may have decided meanwhile: the words of the warehouse say what it is now. */
function explain(error: unknown, from: string): unknown {
  const ways = [{href: from, label: 'Look at it as it is now'}];
  if (error instanceof UsageError)
    return new Refused(422, {
      title: 'This cannot be done',
      text: `${error.message}. Nothing was done.`,
      ways,
    });
  const cause =
    error instanceof Error && !(error instanceof pg.DatabaseError) ? error.cause : error;
  const refusal = error instanceof pg.DatabaseError ? error : cause;
  if (!(refusal instanceof pg.DatabaseError) || !refusals.has(refusal.code)) return error;
  const hint = refusal.hint === undefined ? '' : ` ${refusal.hint}`;
  return new Refused(409, {
    title: 'It came too late, or does not fit',
    text: `${refusal.message}.${hint} Nothing was overwritten.`,
    ways,
  });
}
