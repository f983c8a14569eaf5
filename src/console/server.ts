// One port for all HTTP requests: the console for people, /v1 for systems, and the telemetry that
// shows whether all is well.

import cookie from '@fastify/cookie';
import form from '@fastify/formbody';
import {html} from '@remix-run/html-template';
import type {FastifyError, FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import fastify from 'fastify';
import {readSessions} from '../accounts/access.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {type ApiOptions, type ApiPools, addApi, sendProblem} from '../http/api.ts';
import {listKnownNames, readKeyName} from '../http/keys.ts';
import {HttpProblem, maxBodyBytes, pageOfStatus} from '../http/problem.ts';
import {addTelemetry, type TelemetryDeps} from '../http/telemetry.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {readDataState} from '../star/mart.ts';
import {AccessRefused, checkHost, checkTexts, type FormFields, readFormFields} from './access.ts';
import {
  accountsPage,
  addAccount,
  addKey,
  checkAccountAction,
  pauseAccountAction,
  resumeAccountAction,
  revokeKey,
} from './accounts-page.ts';
import {alertsPage, removeRule, testRuleAction} from './alerts-page.ts';
import {addCsv, boardPage, businessPage, questionPage} from './business-pages.ts';
import {changeActions} from './change-decisions.ts';
import {changePage} from './change-page.ts';
import {changeListPage} from './changes-page.ts';
import {
  changePreviewPage,
  decideManyAction,
  undoChangesAction,
  undoPreviewPage,
} from './changes-preview-pages.ts';
import {addDocuments, renderCodeLink} from './documents.ts';
import {fieldsPage, giveFieldName} from './fields-page.ts';
import {forgetCustomerAction, forgetPage} from './forget-customer-page.ts';
import {healthPage} from './health-page.ts';
import {addAssets, renderPlain} from './layout.ts';
import {Live, SharedReads, startRefreshing} from './live.ts';
import {addMatching, applyMatch, matchPage, undoMatch} from './match-page.ts';
import {overviewPage} from './overview-page.ts';
import type {Action, ConsoleDeps, ConsoleOptions, Page} from './page.ts';
import {quarantineListPage, quarantinePage, retryQuarantine} from './quarantine-pages.ts';
import {addRule, dropLetter, resendMessage, sendLetter, skipMessage} from './receivers.ts';
import {recordPage} from './record-page.ts';
import {fetchRecord, searchPage} from './records-page.ts';
import {addAction, addClock, addPage} from './serve.ts';
import {
  addClosedDay,
  removeClosedDay,
  saveCapacity,
  saveLabel,
  saveSettings,
  settingsPage,
} from './settings-page.ts';
import {addSignIn, knownViewerOf, requireViewer, tokenOf, viewerOf} from './sign-in.ts';
import {approveSweepAction, sweepListPage, sweepNow, sweepPage} from './sweep-pages.ts';

export interface ServerOptions {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Whether the server uses another port if this one is in use. */
  readonly mayMove?: boolean;
  readonly console: ConsoleOptions;
  /** Sets logins of employees, in a process that opens accounts. */
  readonly setLogin?: NonNullable<ApiOptions['setLogin']>;
  /** The queue and the requests of a worker process. */
  readonly telemetry?: Pick<TelemetryDeps, 'queue' | 'requests'>;
}

/** An address with its method: `/sweeps/:sweepId`. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

interface RunningServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Every address of the server, as its parts declare them. */
  readonly routes: readonly Route[];
  /** Answers the requests in progress, then closes the port. */
  close(): Promise<void>;
}

const requestTimeoutMs = 60_000;

/**
 * Opens the server, on a warehouse that is migrated. The content of requests is never logged, nor
 * are keys.
 * @throws {FatalError} the port is in use, or the host is not one of this machine
 */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const {host, port, mayMove = false} = options;
  const routes: Route[] = [];
  const app = await buildServer(options, routes);
  try {
    const url = await listen(app, {host, port, mayMove});
    return {url, routes, close: () => app.close()};
  } catch (cause) {
    await app.close();
    const reason = isPortInUse(cause)
      ? 'it is in use: stop what listens there, or give another port'
      : String(cause);
    throw new FatalError(`http: cannot listen on port ${port} of ${host}: ${reason}`, {
      cause,
      kind: 'port',
    });
  }
}

async function listen(
  app: FastifyInstance,
  {host, port, mayMove}: {readonly host: string; readonly port: number; readonly mayMove: boolean},
): Promise<string> {
  try {
    return await app.listen({host, port});
  } catch (error) {
    if (!mayMove || !isPortInUse(error)) throw error;
    return await app.listen({host, port: 0});
  }
}

function isPortInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

async function buildServer(
  {pools, log, host, console, telemetry, setLogin}: ServerOptions,
  routes: Route[],
): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    // Behind a known proxy, people have the addresses that the proxy forwards.
    trustProxy: console.proxy?.addresses.slice() ?? false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    frameworkErrors: (_error, _request, reply) =>
      sendProblem(reply, new HttpProblem(400, 'invalid', {detail: 'the address cannot be read'})),
  });
  app.addHook('onRoute', ({method, url}) => {
    for (const singleMethod of [method].flat()) routes.push({method: singleMethod, path: url});
  });
  app.addHook('onSend', async (_request, reply) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    const {method, routeOptions} = request;
    const ms = Math.round(reply.elapsedTime);
    log.info(
      {key: readKeyName(request), method, route: routeOptions.url, status: reply.statusCode, ms},
      'http',
    );
  });
  const known = listKnownNames(host, console);
  await addApi(app, {pools, log, known, directUrl: console.directUrl, setLogin: setLogin ?? null});
  await addTelemetry(app, {pool: pools.reads, log, known, ...telemetry});
  await addConsole(app, {pools, log, known, ...console});
  return app;
}

// The console: pages for the people who operate an installation. Each page renders a story that the
// terminal prints as well; each action is a form. No page needs a script, and no file comes from
// elsewhere.

/** Every page of the console. */
export const pages: readonly Page[] = [
  overviewPage,
  businessPage,
  boardPage,
  questionPage,
  sweepListPage,
  sweepPage,
  quarantineListPage,
  quarantinePage,
  searchPage,
  recordPage,
  forgetPage,
  matchPage,
  fieldsPage,
  changeListPage,
  changePreviewPage,
  undoPreviewPage,
  changePage,
  accountsPage,
  alertsPage,
  settingsPage,
  healthPage,
];

/** Every action of the console. */
export const actions: readonly Action[] = [
  sweepNow,
  approveSweepAction,
  fetchRecord,
  forgetCustomerAction,
  retryQuarantine,
  applyMatch,
  undoMatch,
  giveFieldName,
  ...changeActions,
  decideManyAction,
  undoChangesAction,
  pauseAccountAction,
  resumeAccountAction,
  checkAccountAction,
  addAccount,
  addKey,
  revokeKey,
  addRule,
  testRuleAction,
  removeRule,
  saveSettings,
  addClosedDay,
  removeClosedDay,
  saveCapacity,
  saveLabel,
  resendMessage,
  skipMessage,
  sendLetter,
  dropLetter,
];

/**
 * A policy without exceptions: the browser loads nothing from other sites and sends them nothing.
 * No other site may frame a page.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** Adds every address of the console, which also answers addresses that no other part serves. */
async function addConsole(server: FastifyInstance, deps: ConsoleDeps): Promise<void> {
  await server.register(async (app) => {
    const readings = new SharedReads();
    const live = new Live(deps.directUrl, {
      log: deps.log,
      onMoved: () => readings.forgetRecent(),
      findSignedIn: async (tokens) =>
        new Set((await readSessions(deps.pools.reads, tokens)).keys()),
    });
    await app.register(cookie);
    await app.register(form, {bodyLimit: 1_000_000});
    app.addHook('onRequest', async (request, reply) => {
      reply.headers({
        'content-security-policy': contentSecurityPolicy,
        // Without a referrer for its own origin, a browser sends our forms with the origin null.
        'referrer-policy': 'same-origin',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
      });
      checkHost(request, deps.known);
    });
    app.addHook('preHandler', async (request) => {
      checkTexts(request);
      request.query = readFormFields(request.query);
      // A form without a field is sent without a body.
      if (request.method === 'POST') request.body ??= {};
    });
    app.setErrorHandler((error: FastifyError, request, reply) =>
      sendError(reply, {error, request, deps}),
    );
    app.setNotFoundHandler(() => {
      throw new AccessRefused(404, {
        title: 'Not found',
        text: 'There is no page at this address.',
        ways: [{href: '/', label: 'Overview'}],
      });
    });
    addAssets(app);
    addDocuments(app);
    requireViewer(app, deps);
    addSignIn(app, deps);
    addClock(app, deps);
    for (const page of pages) addPage(app, page, {...deps, readings});
    addCsv(app, deps);
    addMatching(app, deps);
    for (const action of actions) addAction(app, action, {...deps, readings});
    app.get<{Querystring: FormFields}>('/live', async (request, reply) => {
      viewerOf(request);
      const {of: tableNames = '', since = ''} = request.query;
      const moving = new Set(tableNames.split(','));
      await live.follow(reply, {moving, drawnAt: Number(since) || 0, token: tokenOf(request)});
    });
    const stopRefreshing = startRefreshing(readings, () => readDataState(deps.pools.reads));
    app.addHook('preClose', async () => {
      await live.close();
      await stopRefreshing();
    });
  });
}

interface Failure {
  readonly error: FastifyError;
  readonly request: FastifyRequest;
  readonly deps: ConsoleDeps;
}

/** Sends a page that describes the error, never a stack. */
function sendError(reply: FastifyReply, {error, request, deps}: Failure): void {
  const {status, title, text, ways} = refusalOf({error, request, deps});
  if (status === 503) reply.header('retry-after', '5').header('refresh', '5');
  const list = ways.map(({href, label}) => html`<li><a href="${href}">${label}</a></li>`);
  void reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(
      renderPlain(
        title,
        html`<p class="banner bad">${text}</p>${ways.length === 0 ? '' : html`<ul>${list}</ul>`}
<p class="quiet">see ${renderCodeLink(pageOfStatus(status))}</p>`,
        knownViewerOf(request),
      ),
    );
}

function refusalOf({error, request, deps: {log, pools}}: Failure): AccessRefused {
  if (error instanceof AccessRefused) return error;
  if (error instanceof UsageError)
    return new AccessRefused(422, {title: 'This cannot be shown', text: error.message});
  if (error.statusCode !== undefined && error.statusCode < 500)
    return new AccessRefused(error.statusCode, {
      title: 'This cannot be read',
      text: 'Nothing was done.',
    });
  const explained = explainDatabaseError(error, pools.reads.options.connectionString ?? '');
  const {method, routeOptions} = request;
  const reason = explained === error ? `${error.name} ${error.stack ?? ''}` : explained.message;
  const docs = pageOfStatus(explained === error ? 500 : 503);
  log.error({method, route: routeOptions.url, reason, docs}, 'console: a request failed');
  if (explained !== error)
    return new AccessRefused(503, {
      title: 'The warehouse cannot be reached',
      text: `${explained.message}. This page reloads automatically.`,
    });
  return new AccessRefused(500, {
    title: 'This is a bug in Fieldmirror',
    text: 'The log has more. Nothing was written.',
  });
}
