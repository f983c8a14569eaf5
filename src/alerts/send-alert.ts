import {UsageError} from '../core/errors.ts';
import type {Sealed, SealingKey} from '../core/secret.ts';
import {Secret} from '../core/secret.ts';
import {openAccess} from '../feed/receiver-access.ts';
import {parseSmtp, parseTarget} from '../feed/receiver-target.ts';
import {sendRequest} from '../feed/send-request.ts';
import {sendEmail} from './alert-email.ts';
import type {AlertMessage} from './alert-message.ts';
import type {Receiver} from './alert-rules.ts';
import {sendSlack} from './alert-slack.ts';
import {sendWebhook} from './alert-webhook.ts';

/** The means of this process to send. */
export interface SendDeps {
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
export interface Route {
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
export async function send(
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
