// Sends alerts: the due deliveries, their text, and each kind of receiver. Names and reasons in a
// message come from other systems: each is kept on one line, and escaped for its receiver.

import type pg from 'pg';
import {numberOfCause, seeDocs, UsageError} from '../core/errors.ts';
import {formatMinute} from '../core/format.ts';
import type {Logger} from '../core/log.ts';
import {Secret} from '../core/secret.ts';
import {deliverClaim, deliverDue, type FailedTry} from '../feed/deliver.ts';
import {
  type Access,
  type Mail,
  openAccess,
  openSmtp,
  parseTarget,
  type SendMeans,
  sendEmail,
  sendRequest,
  sendSigned,
} from '../feed/receivers.ts';
import {
  claimDeliveries,
  type Delivery,
  deliveryQueue,
  listNews,
  type News,
  noteFailed,
  noteSent,
} from './deliveries.ts';

interface SendDueDeps extends SendDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Called after each try. */
  readonly onTried?: () => void;
}

const backOff = {firstMs: 30_000, longestMs: 3_600_000};
/** About a day of tries. */
const mostTries = 30;

/** Sends everything that is due. */
export async function sendDue(deps: SendDueDeps): Promise<void> {
  const resources = {keyIds: deps.keys.map(({id}) => id), hasSmtp: deps.smtpUrl !== null};
  const sending = {
    queue: deliveryQueue,
    backOff,
    mostTries,
    send: (delivery: Delivery) => sendDelivery(deps, delivery),
    refuse: (delivery: Delivery, failure: FailedTry) => postpone(deps, delivery, failure),
  };
  await deliverDue(
    {signal: deps.signal, atOnce: 8},
    (limit) => claimDeliveries(deps.pool, resources, limit),
    async (delivery) => {
      await deliverClaim(deps, sending, delivery);
      deps.onTried?.();
    },
  );
}

async function sendDelivery(deps: SendDueDeps, delivery: Delivery): Promise<void> {
  const {pool, log} = deps;
  const {kind, messageId, rule, id} = delivery;
  const message = kind === 'ping' ? null : {kind, messageId, rule, news: await listNews(pool, id)};
  await sendMessage(deps, delivery, message);
  await noteSent(pool, delivery);
  log.info({event: 'alert.sent', rule, kind}, 'an alert was taken');
}

/** A ping is never given up. */
async function postpone(
  {pool, log}: SendDueDeps,
  delivery: Delivery,
  {isLast, ...failure}: FailedTry,
): Promise<void> {
  const {rule, kind, failures} = delivery;
  const isGivenUp = isLast && kind !== 'ping';
  if (!(await noteFailed(pool, delivery, {...failure, isLast: isGivenUp}))) return;
  const facts = {rule, kind, attempt: failures + 1, reason: failure.error};
  if (isGivenUp) log.error({event: 'alert.given_up', ...facts}, 'an alert was given up');
  else log.warn({event: 'alert.postponed', ...facts}, 'an alert was not taken; it is tried again');
}

/** The keys and servers with which this process sends. */
interface SendDeps extends SendMeans {
  /** The mail server for e-mail rules that have none themselves. */
  readonly smtpUrl: Secret | null;
  readonly signal?: AbortSignal;
}

/** The parts of a rule that are needed to send by it. */
type Route = Pick<Delivery, 'rule' | 'receiver' | 'target' | 'sealed'>;

/**
 * Sends a message once; if it is null, a ping.
 * @returns the receiver's answer, for a person
 * @throws {RetryableError} the receiver does not accept it
 * @throws {UsageError | FatalError} this process cannot reach the receiver: no key, no mail server,
 *   an address that may not be used
 */
export async function sendMessage(
  deps: SendDeps,
  route: Route,
  message: AlertMessage | null,
): Promise<string> {
  const {allowsHttp, allowsLinkLocal, signal} = deps;
  const options = {allowsLinkLocal, signal};
  const {address, secret = ''} = findAccess(deps, route);
  if (route.receiver === 'email') {
    if (message === null) throw new TypeError('a ping by e-mail');
    const server = openSmtp(address, deps);
    return await sendEmail({to: route.target, server}, composeMail(message), options);
  }
  const url = parseTarget(address, allowsHttp);
  if (message === null || route.receiver === 'ping') return await sendRequest({url, ...options});
  if (route.receiver === 'slack')
    return await sendRequest({url, body: composeSlackBody(message), ...options});
  const {messageId} = message;
  return await sendSigned(
    {url, secret: new Secret(secret)},
    {messageId, body: composeBody(message)},
    options,
  );
}

function findAccess(deps: SendDeps, {rule, sealed}: Route): Access {
  if (sealed !== null) return openAccess(sealed, deps, {kind: 'alert_rules', name: rule});
  if (deps.smtpUrl !== null) return {address: deps.smtpUrl.reveal()};
  throw new UsageError(
    `alert rule ${rule}: expected a server of e-mail in FIELDMIRROR_SMTP_URL, ` +
      'such as smtps://user:password@mail.example.com?from=alerts@example.com, got nothing',
  );
}

/** The content of a message, the same for every receiver. */
export interface AlertMessage {
  /** The same in each try: a receiver that has it already may drop the repeat. */
  readonly messageId: string;
  readonly kind: 'opened' | 'resolved' | 'digest' | 'test';
  readonly rule: string;
  /** The alerts that it reports, in the order in which they happened. */
  readonly news: readonly News[];
}

/** A digest lists this many alerts, and how many more there are. */
const mostNews = 20;
const longestTitle = 150;
const longestLine = 500;

/** One line: `acme, jobs: the last full sweep failed: …` */
export function composeTitle({kind, rule, news}: AlertMessage): string {
  const [first] = news;
  if (kind === 'test') return `a test of the alert rule ${rule}`;
  if (kind !== 'digest' && first !== undefined) return cut(describeNews(first), longestTitle);
  const opened = news.filter((item) => item.news === 'opened').length;
  const parts = [
    ...(opened === 0 ? [] : [`${opened} need a person`]),
    ...(opened === news.length ? [] : [`${news.length - opened} are over`]),
  ];
  return `${news.length} alerts: ${parts.join(', ')}`;
}

/** The lines of the whole message, without any control character. */
export function listLines(message: AlertMessage): string[] {
  const {kind, news} = message;
  if (kind === 'test')
    return ['This is a test: nothing is wrong. Alerts of this rule arrive as this message did.'];
  const lines = news
    .slice(0, mostNews)
    .flatMap((item) => [describeNews(item), ...listDetails(item)]);
  const remaining = news.length - mostNews;
  return remaining > 0 ? [...lines, `and ${remaining} more: fieldmirror alerts list`] : lines;
}

function describeNews({news, account, stream, text}: News): string {
  const scope = [account, stream].filter((name) => name !== null).join(', ');
  const prefix = news === 'resolved' ? 'over: ' : '';
  return cut(toLine(`${prefix}${scope === '' ? '' : `${scope}: `}${text}`), longestLine);
}

function listDetails({news, cause, since, nextStep, resolvedAt}: News): string[] {
  if (news === 'resolved')
    return [`  from ${formatMinute(since)} to ${formatMinute(resolvedAt ?? since)}`];
  return [
    `  since ${formatMinute(since)}`,
    ...(nextStep === null ? [] : [`  ${cut(toLine(nextStep), longestLine)}`]),
    `  ${seeDocs(cause)}`,
  ];
}

/** Removes line breaks: a name with one would become a separate line, or a header of a mail. */
function toLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}

function composeMail(message: AlertMessage): Mail {
  const {messageId, rule} = message;
  return {
    messageId,
    subject: `Fieldmirror: ${composeTitle(message)}`,
    text: `${listLines(message).join('\n')}\n\nmessage ${messageId}, by the alert rule ${rule}\n`,
  };
}

/** The last line is the message's id, because Slack itself does not drop repeats. */
function composeSlackBody(message: AlertMessage): string {
  const lines = [`Fieldmirror: ${composeTitle(message)}`, ...listLines(message)];
  const text = escapeText([...lines, `message ${message.messageId}`].join('\n'));
  return JSON.stringify({text, mrkdwn: false});
}

/**
 * `<!channel>` would notify everyone, and `<https://…|…>` would be a link. @see docs/watching.md
 * "Alerts"
 */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** @see docs/watching.md "Alerts" */
function composeBody(message: AlertMessage): string {
  const {kind, rule, news} = message;
  const last = news.at(-1);
  const shownNews = news.slice(0, mostNews);
  return JSON.stringify({
    type: `alert.${kind}`,
    timestamp: last?.resolvedAt ?? last?.openedAt ?? new Date().toISOString(),
    data: {
      rule,
      title: composeTitle(message),
      count: news.length,
      alerts: shownNews.map((item) => ({...item, docs: numberOfCause(item.cause)})),
    },
  });
}
