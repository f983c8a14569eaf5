// Serves pages and actions. A page reads its story and renders it. An action and its entry in the
// audit are written in one transaction.

import {html} from '@remix-run/html-template';
import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import pg from 'pg';
import {writeAudit} from '../accounts/access.ts';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {inTransaction} from '../postgres/database.ts';
import {
  AccessRefused,
  checkForm,
  checkRole,
  makeNotFound,
  readFormFields,
  toOwnPath,
  type Viewer,
} from './access.ts';
import {renderDocument, renderPlain} from './layout.ts';
import type {SharedReads} from './live.ts';
import type {
  Action,
  ConsoleDeps,
  Outcome,
  Page,
  PageContext,
  PageRequest,
  PostRequest,
} from './page.ts';
import {viewerOf} from './sign-in.ts';

interface PageDeps extends ConsoleDeps {
  readonly readings: SharedReads;
}

type Texts = Readonly<Record<string, string>>;

/** Serves a page: as HTML, or with `as=json` its story alone. */
export function addPage(app: FastifyInstance, page: Page, deps: PageDeps): void {
  app.get<{Querystring: Texts; Params: Texts}>(page.path, async (request, reply) => {
    const viewer = viewerOf(request);
    const {as, ...query} = request.query;
    if (page.role !== undefined) checkRole(viewer, page.role, page.section);
    const message = takeFlash(request, reply);
    const isFresh = message !== null;
    // Every open page reads the accounts again at each change.
    const allAccounts = await deps.readings.read('accounts', () => listAccounts(deps.pools.reads), {
      isFresh,
      keptMs: undefined,
    });
    const seen = chooseSeenAccounts(viewer, allAccounts);
    const accounts = chooseAccounts(seen, query.account);
    const {params} = request;
    const seesAll = viewer.accountId === null;
    const {masks} = viewer;
    const pageRequest = {
      db: deps.pools.reads,
      services: deps.services,
      seen,
      seesAll,
      accounts,
      params,
      query,
      masks,
    };
    const story = await readStory(page, pageRequest, {viewer, deps, isFresh});
    if (as === 'json')
      return await reply.type('application/json; charset=utf-8').send(JSON.stringify(story));
    const path = pathOf(request);
    const context: PageContext = {
      viewer,
      seen,
      accounts,
      path,
      query,
      ...readClock(request, accounts),
    };
    return await send(reply, {page, story, context, request: pageRequest, message});
  });
}

/** The accounts that a viewer may see. */
export async function readSeenAccounts(
  {accountId}: Pick<Viewer, 'accountId'>,
  {pools}: Pick<ConsoleDeps, 'pools'>,
): Promise<readonly Account[]> {
  return chooseSeenAccounts({accountId}, await listAccounts(pools.reads));
}

function chooseSeenAccounts(
  {accountId}: Pick<Viewer, 'accountId'>,
  accounts: readonly Account[],
): readonly Account[] {
  return accountId === null
    ? accounts
    : accounts.filter((account) => account.accountId === accountId);
}

async function readStory(
  page: Page,
  request: PageRequest,
  {
    viewer,
    deps,
    isFresh,
  }: {readonly viewer: Viewer; readonly deps: PageDeps; readonly isFresh: boolean},
): Promise<unknown> {
  const {seen, seesAll, accounts, params, query, masks} = request;
  const {words: filterNames} = page;
  const key = JSON.stringify([
    page.path,
    params,
    filterNames === undefined ? query : filterNames.map((filterName) => query[filterName] ?? null),
    seesAll,
    masks,
    [seen, accounts].map((list) => list.map(({accountId}) => accountId)),
  ]);
  const story = await deps.readings.read(key, () => page.read(request), {
    isFresh,
    keptMs: page.keptMs,
    ages: page.ages?.(request) ?? false,
  });
  return viewer.masks && page.hide !== undefined ? page.hide(story) : story;
}

interface PageParts {
  readonly page: Page;
  readonly story: unknown;
  readonly context: PageContext;
  readonly request: PageRequest;
  readonly message: string | null;
}

async function send(
  reply: FastifyReply,
  {page, story, context, request: pageRequest, message}: PageParts,
) {
  const document = renderDocument({
    title: page.title(story),
    body: page.render(story, context),
    section: page.section,
    context,
    message,
    elsewhere: page.elsewhere(pageRequest, story),
    live:
      page.moving.length === 0
        ? null
        : `/live?of=${page.moving.join(',')}&since=${Date.parse(context.now)}`,
  });
  return await reply.type('text/html; charset=utf-8').send(document);
}

/** The accounts that an address is about. @throws {AccessRefused} there is none of that name */
export function chooseAccounts(
  seen: readonly Account[],
  name: string | undefined,
): readonly Account[] {
  if (name === undefined) return seen;
  const chosenAccounts = seen.filter((account) => account.name === name);
  if (chosenAccounts.length === 1) return chosenAccounts;
  throw makeNotFound(
    `account ${JSON.stringify(name)}`,
    seen.map((account) => ({
      href: `/?account=${encodeURIComponent(account.name)}`,
      label: account.name,
    })),
  );
}

/** The address of the page itself, without the parameter that selects JSON. */
function pathOf(request: FastifyRequest): string {
  const [path = '/', search = ''] = request.url.split('?');
  const query = new URLSearchParams(search);
  query.delete('as');
  return query.size === 0 ? path : `${path}?${query}`;
}

/**
 * The codes with which the functions of the warehouse refuse a decision: unknown number, another
 * state, or not allowed. For a name: it is invalid, taken, or used by a view of somebody else.
 */
const refusals: ReadonlySet<string | undefined> = new Set([
  ...['P0002', '55000', '22023', '23505', '23514'],
  ...['42602', '42701', '2BP01'],
]);

interface ActionRoute {
  readonly Params: Texts;
  /** Undefined for a request without a body. */
  readonly Body: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Serves an action: checks the sender of the form, carries the action out, and writes its audit
 * entry in the same transaction.
 */
export function addAction(app: FastifyInstance, action: Action, deps: PageDeps): void {
  app.post<ActionRoute>(action.path, async (request, reply) => {
    const viewer = viewerOf(request);
    const {form: formToken, back, ...fields} = request.body ?? {};
    checkForm(request, {viewer, formToken, known: deps.known});
    const backPath = toOwnPath(typeof back === 'string' ? back : undefined);
    checkRole(viewer, action.role, backPath);
    const committedOutcome = await carryOut(action, {request, viewer, fields, deps}).catch(
      (error: unknown) => {
        throw explainRefusal(error, backPath);
      },
    );
    if (committedOutcome.dropsReadings === true) deps.readings.forgetAll();
    const finalOutcome = await finishOutcome(committedOutcome, action, deps);
    if (finalOutcome.once !== undefined)
      return await sendOnce(reply, finalOutcome, {secret: finalOutcome.once, viewer});
    setFlash(reply, finalOutcome.message);
    return await reply.redirect(finalOutcome.to ?? backPath, 303);
  });
}

/** Sends a secret in this answer alone: never in a cookie, and no page shows it again. */
async function sendOnce(
  reply: FastifyReply,
  {message, to: nextUrl = '/'}: Outcome,
  {secret, viewer}: {readonly secret: string; readonly viewer: Viewer},
): Promise<void> {
  const body = html`<p>${message}</p><pre tabindex="0">${secret}</pre>
<p>It is shown this once. <a href="${nextUrl}">Continue</a></p>`;
  await reply.type('text/html; charset=utf-8').send(renderPlain('Shown this once', body, viewer));
}

interface ActionInput {
  readonly request: FastifyRequest<ActionRoute>;
  readonly viewer: Viewer;
  readonly fields: unknown;
  readonly deps: ConsoleDeps;
}

async function carryOut(
  action: Action,
  {request, viewer, fields, deps}: ActionInput,
): Promise<Outcome> {
  const parsed = action.form.safeParse(fields);
  if (!parsed.success)
    throw new UsageError(parsed.error.issues.map(({message}) => message).join('; '));
  const seen = await readSeenAccounts(viewer, deps);
  const {params} = request;
  const postRequest = {viewer, seen, params, fields: parsed.data, services: deps.services};
  const prepared = await prepare(action, postRequest);
  return await inTransaction(deps.pools.writes, async (client) => {
    await client.query(
      `SELECT set_config('fieldmirror.writer', '', true),
              set_config('fieldmirror.person', $1, true),
              set_config('application_name', 'console: ' || $1, true)`,
      [viewer.name],
    );
    const outcome = await action.act(client, postRequest, prepared);
    const {sessionId, name, role} = viewer;
    const {subject, accountId, before = null, after = null} = outcome;
    const actor = {sessionId, name, role, address: request.ip};
    await writeAudit(client, {...actor, action: action.name, accountId, subject, before, after});
    return outcome;
  });
}

/**
 * Does the work after a committed action. An error of that work must not claim that nothing was
 * done.
 */
async function finishOutcome(
  outcome: Outcome,
  {name}: Action,
  {log}: ConsoleDeps,
): Promise<Outcome> {
  if (outcome.afterwards === undefined) return outcome;
  const sentence = await outcome.afterwards().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    log.error({action: name, reason}, 'console: what follows an action failed');
    return `What follows it was not done: ${reason}.`;
  });
  return {...outcome, message: `${outcome.message} ${sentence}`};
}

/**
 * If the service is unreachable or refuses, its own error is shown, because the warehouse is not
 * the cause.
 */
async function prepare(action: Action, postRequest: PostRequest<unknown>): Promise<unknown> {
  try {
    return await action.prepare?.(postRequest);
  } catch (error) {
    if (error instanceof RetryableError || error instanceof FatalError)
      throw new UsageError(error.message, {cause: error});
    throw error;
  }
}

/**
 * Somebody else may have decided in the meantime: the message of the warehouse names the present
 * state.
 */
function explainRefusal(error: unknown, backPath: string): unknown {
  const links = [{href: backPath, label: 'Look at it as it is now'}];
  if (error instanceof UsageError)
    return new AccessRefused(422, {
      title: 'This cannot be done',
      text: `${error.message}. Nothing was done.`,
      ways: links,
    });
  const cause =
    error instanceof Error && !(error instanceof pg.DatabaseError) ? error.cause : error;
  const refusal = error instanceof pg.DatabaseError ? error : cause;
  if (!(refusal instanceof pg.DatabaseError) || !refusals.has(refusal.code)) return error;
  const hint = refusal.hint === undefined ? '' : ` ${refusal.hint}`;
  return new AccessRefused(409, {
    title: 'It came too late, or does not fit',
    text: `${refusal.message}.${hint} Nothing was overwritten.`,
    ways: links,
  });
}

const flashCookie = 'fieldmirror_said';
const flashSeconds = 60;
const longestFlash = 1_000;

/** Keeps the outcome of an action for the page that is shown next. */
function setFlash(reply: FastifyReply, message: string): void {
  void reply.setCookie(flashCookie, message.slice(0, longestFlash), {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    maxAge: flashSeconds,
  });
}

/** Returns the outcome of the last action, and removes it. */
function takeFlash(request: FastifyRequest, reply: FastifyReply): string | null {
  const message = request.cookies[flashCookie];
  if (message === undefined || message === '') return null;
  void reply.clearCookie(flashCookie, {path: '/'});
  return message;
}

const clockCookie = 'fieldmirror_clock';
const yearSeconds = 365 * 24 * 3600;

/**
 * The clock by which times are shown: that of the accounts, if all shown accounts have the same.
 * Otherwise, or by choice, it is UTC.
 */
function readClock(
  request: FastifyRequest,
  accounts: readonly Account[],
): Pick<PageContext, 'timeZone' | 'now'> {
  const zones = new Set(accounts.map(({timeZone}) => timeZone));
  const [onlyZone] = zones;
  const isUtc =
    request.cookies[clockCookie] === 'utc' || zones.size !== 1 || onlyZone === undefined;
  return {timeZone: isUtc ? 'UTC' : onlyZone, now: new Date().toISOString()};
}

/** Serves the form that changes the clock. */
export function addClock(app: FastifyInstance, {known}: Pick<ConsoleDeps, 'known'>): void {
  app.post('/clock', async (request, reply) => {
    const {clock, back, form} = readFormFields(request.body);
    checkForm(request, {viewer: viewerOf(request), formToken: form, known});
    void reply.setCookie(clockCookie, clock === 'utc' ? 'utc' : 'account', {
      path: '/',
      httpOnly: true,
      sameSite: 'strict',
      maxAge: yearSeconds,
    });
    return await reply.redirect(toOwnPath(back), 303);
  });
}
