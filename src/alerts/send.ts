// Alerts on their way: what is due, its words, and each kind of receiver. Names and reasons in a
// message come from elsewhere: each stays on its line, and each receiver escapes it as it must. The
// library for e-mail is loaded when the first one is sent.

import {connect, type LookupFunction, type Socket} from 'node:net';
import type pg from 'pg';
import {isRefusedAddress, refusingLookup, toRefusal} from '../api/addresses.ts';
import {pauseAfter} from '../core/back-off.ts';
import {numberOfCause, RetryableError, seeDocs, UsageError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {type Sealed, type SealingKey, Secret} from '../core/secret.ts';
import {
  openAccess,
  parseSmtp,
  parseTarget,
  type SmtpServer,
  sendRequest,
  sendSigned,
  type Way,
} from '../feed/deliver.ts';
import {
  claimDeliveries,
  type Delivery,
  giveBack,
  listNews,
  type News,
  noteFailed,
  noteSent,
} from './deliveries.ts';
import type {Receiver} from './rules.ts';

interface SendDueDeps extends SendDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Is told after each few that were tried. */
  readonly onTried?: () => void;
}

/** Receivers that are slow hold up no others but these. */
const atOnce = 8;
const backOff = {firstMs: 30_000, longestMs: 3_600_000};

/**
 * Sends everything that is due, at least once: it is noted after the receiver took it, never
 * before.
 */
export async function sendDue(deps: SendDueDeps): Promise<void> {
  const means = {keyIds: deps.keys.map(({id}) => id), hasSmtp: deps.smtpUrl !== null};
  for (;;) {
    if (deps.signal?.aborted === true) return;
    const claimed = await claimDeliveries(deps.pool, means, atOnce);
    if (claimed.length === 0) return;
    await Promise.all(claimed.map((delivery) => deliver(deps, delivery)));
    deps.onTried?.();
  }
}

async function deliver(deps: SendDueDeps, delivery: Delivery): Promise<void> {
  const {pool, log, signal} = deps;
  try {
    await sendMessage(deps, delivery, await readMessage(pool, delivery));
  } catch (error) {
    if (signal?.aborted === true) return await giveBack(pool, delivery);
    return await postpone(deps, delivery, error);
  }
  await noteSent(pool, delivery);
  log.info({event: 'alert.sent', rule: delivery.rule, kind: delivery.kind}, 'an alert was taken');
}

async function readMessage(pool: pg.Pool, delivery: Delivery): Promise<AlertMessage | null> {
  const {kind, messageId, rule, deliveryId} = delivery;
  return kind === 'ping' ? null : {kind, messageId, rule, news: await listNews(pool, deliveryId)};
}

async function postpone(
  {pool, log}: SendDueDeps,
  delivery: Delivery,
  cause: unknown,
): Promise<void> {
  const error = cause instanceof Error ? cause.message : String(cause);
  const afterMs = pauseAfter(cause, delivery.attempts - 1, backOff);
  const state = await noteFailed(pool, delivery, {error, afterMs});
  const facts = {
    rule: delivery.rule,
    kind: delivery.kind,
    attempt: delivery.attempts,
    reason: error,
  };
  if (state === 'failed') log.error({event: 'alert.given_up', ...facts}, 'an alert was given up');
  else if (state === 'due')
    log.warn({event: 'alert.postponed', ...facts}, 'an alert was not taken; it is tried again');
}

/** The means of this process to send. */
interface SendDeps {
  readonly keys: readonly SealingKey[];
  /** The server of e-mail of rules that bring none. */
  readonly smtpUrl: Secret | null;
  readonly allowsHttp: boolean;
  readonly allowsLinkLocal?: boolean;
  /** Told of every secret that is opened, so that a log can be kept clean of it. */
  readonly onSecret: (secret: Secret) => void;
  readonly signal?: AbortSignal;
}

/** A rule, as far as it takes to send by it. */
interface Route {
  readonly rule: string;
  readonly receiver: Receiver;
  readonly target: string;
  readonly sealed: Sealed | null;
}

/**
 * Sends a message, or a ping where there is none, once.
 * @returns the receiver's answer, for a person
 * @throws {RetryableError} the receiver does not take it
 * @throws {UsageError | FatalError} this process cannot reach it: no key, no server of e-mail, an
 *   address that may not be used
 */
export async function sendMessage(
  deps: SendDeps,
  route: Route,
  message: AlertMessage | null,
): Promise<string> {
  const {allowsHttp, allowsLinkLocal, signal} = deps;
  const way = {allowsLinkLocal, signal};
  const {address, secret = ''} = findAccess(deps, route);
  if (route.receiver !== 'email') {
    const url = parseTarget(address, allowsHttp);
    if (message === null || route.receiver === 'ping') return await sendRequest({url, ...way});
    return route.receiver === 'slack'
      ? await sendSlack(url, message, way)
      : await sendWebhook({url, secret: new Secret(secret)}, message, way);
  }
  if (message === null) throw new TypeError('a ping by e-mail');
  const server = parseSmtp(address, allowsHttp);
  if (server.auth !== null) deps.onSecret(new Secret(server.auth.pass));
  return await sendEmail({to: route.target, server}, message, way);
}

function findAccess({keys, smtpUrl, onSecret}: SendDeps, {rule, sealed}: Route) {
  if (sealed === null) {
    if (smtpUrl !== null) return {address: smtpUrl.reveal()};
    throw new UsageError(
      `alert rule ${rule}: expected a server of e-mail in FIELDMIRROR_SMTP_URL, such as smtps://user:password@mail.example.com?from=alerts@example.com, got nothing`,
    );
  }
  const access = openAccess(sealed, keys, {kind: 'alert_rules', name: rule});
  for (const text of [access.address, access.secret])
    if (text !== undefined) onSecret(new Secret(text));
  return access;
}

/** A message as every receiver gets it. */
export interface AlertMessage {
  /** The same in each try: a receiver that has it already may drop the repeat. */
  readonly messageId: string;
  readonly kind: 'opened' | 'mended' | 'digest' | 'test';
  readonly rule: string;
  /** What it tells, in the order in which it happened. */
  readonly news: readonly News[];
}

/** A digest tells as many, and how many more there are. */
const mostNews = 20;
const longestTitle = 150;
const longestLine = 500;

/** One line: `acme, jobs: the last full sweep failed: …` */
export function titleOf({kind, rule, news}: AlertMessage): string {
  const [first] = news;
  if (kind === 'test') return `a test of the alert rule ${rule}`;
  if (kind !== 'digest' && first !== undefined) return cut(describeNews(first), longestTitle);
  const opened = news.filter((each) => each.news === 'opened').length;
  const parts = [
    ...(opened === 0 ? [] : [`${opened} need a person`]),
    ...(opened === news.length ? [] : [`${news.length - opened} are over`]),
  ];
  return `${news.length} alerts: ${parts.join(', ')}`;
}

/** The whole message, in lines without any control character but the ends of lines. */
export function linesOf(message: AlertMessage): string[] {
  const {kind, news} = message;
  if (kind === 'test')
    return ['This is a test: nothing is wrong. Alerts of this rule arrive as this message did.'];
  const told = news.slice(0, mostNews).flatMap((each) => [describeNews(each), ...detailsOf(each)]);
  const left = news.length - mostNews;
  return left > 0 ? [...told, `and ${left} more: fieldmirror alerts list`] : told;
}

function describeNews({news, account, stream, text}: News): string {
  const place = [account, stream].filter((name) => name !== null).join(', ');
  const over = news === 'mended' ? 'over: ' : '';
  return cut(toLine(`${over}${place === '' ? '' : `${place}: `}${text}`), longestLine);
}

function detailsOf({news, cause, since, nextStep, mendedAt}: News): string[] {
  if (news === 'mended') return [`  from ${showMinute(since)} to ${showMinute(mendedAt ?? since)}`];
  return [
    `  since ${showMinute(since)}`,
    ...(nextStep === null ? [] : [`  ${cut(toLine(nextStep), longestLine)}`]),
    `  ${seeDocs(cause)}`,
  ];
}

/** A name with an end of line in it would be a line of its own, or a header of a mail. */
function toLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}

/** `2026-11-02 08:15 UTC` */
function showMinute(instant: string): string {
  return `${instant.slice(0, 16).replace('T', ' ')} UTC`;
}

const timeoutMs = 10_000;

/**
 * Sends a message. Its Message-ID is the same in each try, by which programs of mail drop a repeat.
 * @returns the answer of the server: `250`
 * @throws {RetryableError} it names the server and its code, never its words, which may repeat what
 *   was said to it
 */
export async function sendEmail(
  {to, server}: {readonly to: string; readonly server: SmtpServer},
  message: AlertMessage,
  {signal, lookup, allowsLinkLocal = false}: Way = {},
): Promise<string> {
  const {createTransport} = await import('nodemailer');
  const {host, port, isSecure, needsTls, auth, from} = server;
  const transport = createTransport({
    host,
    port,
    secure: isSecure,
    requireTLS: needsTls,
    ignoreTLS: !needsTls,
    ...(auth === null ? {} : {auth}),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(allowsLinkLocal ? {} : {getSocket: openSocketBy(refusingLookup(lookup))}),
  });
  try {
    const mail = {
      from: {name: 'Fieldmirror', address: from ?? to},
      to: {name: '', address: to},
      subject: `Fieldmirror: ${titleOf(message)}`,
      text: `${linesOf(message).join('\n')}\n\nmessage ${message.messageId}, by the alert rule ${message.rule}\n`,
      messageId: `<${message.messageId}@fieldmirror>`,
      headers: {'Auto-Submitted': 'auto-generated'},
      signal,
    };
    const {response} = await transport.sendMail(mail);
    return response.slice(0, 3);
  } catch (error) {
    throw new RetryableError(`${host}: expected it to take the mail, got ${describeError(error)}`);
  } finally {
    transport.close();
  }
}

/** Connects for the library, whose own look-up of names would take any address. */
function openSocketBy(lookup: LookupFunction) {
  return (
    {host = '', port = 0}: {readonly host?: string; readonly port?: number | string},
    callback: (error: Error | null, opened?: {readonly connection: Socket}) => void,
  ): void => {
    if (isRefusedAddress(host)) {
      callback(toRefusal(host));
      return;
    }
    const socket = connect({host, port: Number(port), lookup});
    const fail = (error: Error) => {
      socket.destroy();
      callback(error);
    };
    const expire = () =>
      fail(Object.assign(new Error('no connection in time'), {code: 'ETIMEDOUT'}));
    socket.setTimeout(timeoutMs, expire).once('error', fail);
    socket.once('connect', () => {
      socket.setTimeout(0).off('timeout', expire).off('error', fail);
      callback(null, {connection: socket});
    });
  };
}

function describeError(error: unknown): string {
  const {code, responseCode} = error as {readonly code?: unknown; readonly responseCode?: unknown};
  const answer = typeof responseCode === 'number' ? `an answer of ${responseCode}` : 'none';
  return typeof code === 'string' ? `${answer} [${code}]` : answer;
}

/**
 * Sends a message to an incoming webhook of Slack. Its last line is the message's id: Slack itself
 * drops no repeat.
 */
async function sendSlack(url: URL, message: AlertMessage, way: Way = {}): Promise<string> {
  const lines = [
    `Fieldmirror: ${titleOf(message)}`,
    ...linesOf(message),
    `message ${message.messageId}`,
  ];
  const body = JSON.stringify({text: escapeText(lines.join('\n')), mrkdwn: false});
  return await sendRequest({url, body, ...way});
}

/**
 * `<!channel>` would call everybody, `<https://…|…>` would be a link. @see docs/watching.md
 * "Alerts"
 */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Sends a message as JSON, signed by the convention of Standard Webhooks.
 * @see docs/watching.md "Alerts"
 */
async function sendWebhook(
  {url, secret}: {readonly url: URL; readonly secret: Secret},
  message: AlertMessage,
  way: Way = {},
): Promise<string> {
  const body = JSON.stringify({
    type: `alert.${message.kind}`,
    timestamp: happenedAt(message) ?? new Date().toISOString(),
    data: {
      rule: message.rule,
      title: titleOf(message),
      count: message.news.length,
      alerts: message.news
        .slice(0, mostNews)
        .map((each) => ({...each, docs: numberOfCause(each.cause)})),
    },
  });
  return await sendSigned({url, secret}, {messageId: message.messageId, body}, way);
}

function happenedAt({news}: AlertMessage): string | null {
  const last = news.at(-1);
  return last?.mendedAt ?? last?.openedAt ?? null;
}
