// Sends one message to a receiver, as a request or as a mail. A request is never redirected, has a
// deadline for the whole, and the body of its answer is ignored. A mail is sent through a mail
// server; its library is loaded when the first one is sent. A body is signed by the convention of
// Standard Webhooks. The address of a receiver and its secret are sealed as the tokens of accounts
// are.

import {randomBytes} from 'node:crypto';
import {lookup as ofSystem} from 'node:dns';
import {connect, type LookupFunction, type Socket} from 'node:net';
import {Webhook} from 'standardwebhooks';
import {
  isLoopback,
  isRefusedAddress,
  onlyThisMachine,
  refusingLookup,
  toRefusal,
} from '../api/addresses.ts';
import {createAgents, ExchangeError, exchange} from '../api/exchange.ts';
import {describeFailure} from '../api/verdict.ts';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {parseRetryAfter} from '../core/pauses.ts';
import {type Sealed, type SealingKey, Secret, seal, secretBounds, unseal} from '../core/secret.ts';

/** The means of a process to send. */
export interface SendMeans {
  readonly keys: readonly SealingKey[];
  readonly allowsHttp: boolean;
  readonly allowsLinkLocal?: boolean;
  /** Called with every secret that is opened, so that the log never shows it. */
  readonly onSecret: (secret: Secret) => void;
}

const secretByteCount = 32;

/** Makes a secret that signs, `whsec_…`, in the form that receivers' libraries accept. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(secretByteCount).toString('base64')}`;
}

/**
 * Sends a body once, signed by the convention of Standard Webhooks. @returns the answer, for a
 * person: `200`
 */
export async function sendSigned(
  {url, secret}: {readonly url: URL; readonly secret: Secret},
  {messageId, body}: {readonly messageId: string; readonly body: string},
  options: TransmitOptions = {},
): Promise<string> {
  const id = `msg_${messageId}`;
  const at = new Date();
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret.reveal()).sign(id, at, body),
  };
  return await sendRequest({url, body, headers, ...options});
}

const limits = {timeoutMs: 10_000, maxBodyBytes: 1_000_000, maxHeaders: 200};

/** The options of a sending, of requests and mails alike. */
export interface TransmitOptions {
  readonly signal?: AbortSignal | undefined;
  readonly allowsLinkLocal?: boolean | undefined;
  /** Resolves names, in place of the system. */
  readonly lookup?: LookupFunction | undefined;
  /** Milliseconds for a whole mail, in place of the usual. */
  readonly mailDeadlineMs?: number | undefined;
}

/** A request with a JSON body; without a body, a GET. */
interface OutgoingRequest extends TransmitOptions {
  readonly url: URL;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends a request once.
 * @returns the answer, for a person: `200`
 * @throws {RetryableError} anything but 2xx: it names host and status, never the path, which may be
 *   a secret
 */
export async function sendRequest({
  url,
  body,
  headers = {},
  ...options
}: OutgoingRequest): Promise<string> {
  const {signal, lookup: customLookup, allowsLinkLocal: allowLinkLocal} = options;
  const isLocal = url.protocol === 'http:' && isLoopback(url.hostname);
  const lookup = isLocal ? onlyThisMachine(customLookup) : customLookup;
  const {reads, writes} = createAgents({allowLinkLocal, ...(lookup === undefined ? {} : {lookup})});
  try {
    const request = {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: body === undefined ? ('GET' as const) : ('POST' as const),
      headers: {
        'user-agent': 'fieldmirror',
        ...(body === undefined ? {} : {'content-type': 'application/json'}),
        ...headers,
      },
      body: body ?? null,
    };
    const {status, headers: responseHeaders} = await exchange(writes, request, {...limits, signal});
    if (status >= 200 && status < 300) return String(status);
    const retryAfter = responseHeaders['retry-after'];
    const retryAfterMs = parseRetryAfter(
      typeof retryAfter === 'string' ? retryAfter : undefined,
      Date.now(),
    );
    throw new RetryableError(`${url.host}: expected an answer of 2xx, got ${status}`, {
      retryAfterMs,
    });
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    throw new RetryableError(`${url.host}: expected an answer, got ${describeFailure(error)}`);
  } finally {
    await Promise.all([reads.destroy(), writes.destroy()]);
  }
}

/**
 * Checks the address of a receiver. Anyone who has it may write there: the whole address is a
 * secret, and is never repeated.
 * @param allowsHttp - plain http to another machine shows it to everyone between
 * @throws {UsageError} no address, another scheme, a password in it
 */
export function parseTarget(text: string, allowsHttp: boolean): URL {
  if (!URL.canParse(text)) throw makeUsageError('a URL', 'something else');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw makeUsageError('no user name or password in it', 'one');
  if (url.protocol === 'https:') return url;
  if (url.protocol === 'http:' && (allowsHttp || isLoopback(url.hostname))) return url;
  throw makeUsageError('https', `${url.protocol.slice(0, 20)}// to ${url.hostname}`);
}

/** A server of e-mail. */
interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /**
   * `implicit`: from the first byte. `required`: by STARTTLS, or nothing is sent. `opportunistic`:
   * by STARTTLS if the server offers it.
   */
  readonly tls: 'implicit' | 'required' | 'opportunistic' | 'none';
  readonly auth: {readonly user: string; readonly pass: string} | null;
  /** The sender's address. */
  readonly from: string | null;
}

/**
 * Reads `smtps://user:password@mail.example.com?from=alerts@example.com`, or `smtp://` for a server
 * that changes to TLS by STARTTLS.
 * @throws {UsageError} it is invalid; no part of it is repeated
 */
export function parseSmtp(text: string, allowsHttp: boolean): SmtpServer {
  const expected = 'smtps://user:password@host?from=ADDRESS or smtp://…';
  if (!/^smtps?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`the server of e-mail: expected ${expected}, got something else`);
  const url = new URL(text);
  const isSecure = url.protocol === 'smtps:';
  const starttls = allowsHttp ? 'opportunistic' : 'required';
  const unknownParameter = [...url.searchParams.keys()].find((name) => name !== 'from');
  if (unknownParameter !== undefined || url.hostname === '')
    throw new UsageError(
      `the server of e-mail: expected ${expected}, got a part that is not of it`,
    );
  const user = decodeURIComponent(url.username);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (isSecure ? 465 : 587),
    tls: isSecure ? 'implicit' : isLoopback(url.hostname) ? 'none' : starttls,
    auth: user === '' ? null : {user, pass: decodeURIComponent(url.password)},
    from: url.searchParams.get('from') ?? (user.includes('@') ? user : null),
  };
}

/**
 * Reads the address of a mail server, and passes its password to `onSecret`, so that the log never
 * shows it.
 * @throws {UsageError} as `parseSmtp`
 */
export function openSmtp(
  address: string,
  {allowsHttp, onSecret}: Pick<SendMeans, 'allowsHttp' | 'onSecret'>,
): SmtpServer {
  const server = parseSmtp(address, allowsHttp);
  if (server.auth !== null) onSecret(new Secret(server.auth.pass));
  return server;
}

function makeUsageError(expected: string, got: string): UsageError {
  return new UsageError(
    `the receiver's address: expected ${expected}, got ${got}; give it as https://HOST/PATH, ` +
      'or with FIELDMIRROR_ALLOW_HTTP=1 as http',
  );
}

/** The sealed data of a receiver. */
export interface Access {
  /** The whole address: of a webhook, of Slack, of a ping, of a server of e-mail. */
  readonly address: string;
  /** The secret that signs the messages to a webhook. */
  readonly secret?: string;
}

/** The owner of an access: a rule of alerts, or a subscriber of the feed. */
interface Owner {
  readonly kind: 'alert_rules' | 'feed_hooks';
  readonly name: string;
}

const commands = {alert_rules: 'alerts', feed_hooks: 'hooks'} as const;

/**
 * The key to seal with: the first one.
 * @param place - the verb: `hooks add`
 * @throws {UsageError} there is none
 */
export function expectSealingKey(
  [key]: readonly SealingKey[],
  place: string,
  owner: 'receiver' | 'subscriber',
): SealingKey {
  if (key !== undefined) return key;
  throw new UsageError(
    `${place}: expected a key to seal the ${owner}'s address with, got none: ` +
      'openssl rand -base64 32 makes one; keep it, and give it to this command and to start as ' +
      'FIELDMIRROR_KEY or in the file FIELDMIRROR_KEY_FILE',
  );
}

/** Seals an access for its owner. */
export function sealAccess(access: Access, key: SealingKey, {kind, name}: Owner): Sealed {
  return seal(new Secret(JSON.stringify(access)), key, secretBounds[kind](name));
}

/**
 * Opens the access of its owner.
 * @throws {UsageError} no key opens it
 * @throws {FatalError} it is damaged
 */
export function openAccess(
  sealed: Sealed,
  {keys, onSecret}: Pick<SendMeans, 'keys' | 'onSecret'>,
  {kind, name}: Owner,
): Access {
  const owner = secretBounds[kind](name);
  if (!keys.some(({id}) => id === sealed.keyId))
    throw new UsageError(
      `${owner}: it is sealed with key ${sealed.keyId}, expected that key in FIELDMIRROR_KEY, ` +
        `got ${keys.length === 0 ? 'none' : 'another'}`,
    );
  try {
    // We sealed it, bound to its owner: if it opens, it is what was sealed.
    const access = JSON.parse(unseal(sealed, keys, owner).reveal()) as Access;
    for (const text of Object.values(access)) onSecret(new Secret(text));
    return access;
  } catch (cause) {
    const command = `fieldmirror ${commands[kind]}`;
    const nextStep = `${command} remove ${name}, then ${command} add ${name}`;
    throw new FatalError(`${owner}: what is sealed of it is damaged; ${nextStep}`, {
      cause,
      kind: 'key',
    });
  }
}

/** A mail, without its receiver. */
export interface Mail {
  /** The same in each try: a mail program that has it already may drop the repeat. */
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  /** The same as HTML; left out: text alone. */
  readonly html?: string;
}

const timeoutMs = 10_000;
/**
 * For the whole mail, shorter than the lease of a message. The limits of the library start again
 * with each byte: a server that always sends one more would hold up the messages of all receivers.
 */
const mailDeadlineMs = 45_000;

/**
 * Sends a mail to one address, once.
 * @returns the answer of the server: `250`
 * @throws {RetryableError} it names the server and its code, never its words, which may repeat what
 *   was sent to it
 */
export async function sendEmail(
  {to, server}: {readonly to: string; readonly server: SmtpServer},
  {messageId, subject, text, html}: Mail,
  {signal, lookup, allowsLinkLocal = false, ...options}: TransmitOptions = {},
): Promise<string> {
  const {createTransport} = await import('nodemailer');
  const deadline = AbortSignal.timeout(options.mailDeadlineMs ?? mailDeadlineMs);
  const {host, port, tls, auth, from} = server;
  const transport = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'none',
    ...(auth === null ? {} : {auth}),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: makeSocketOpener({
      allowsLinkLocal,
      lookup: tls === 'none' ? onlyThisMachine(lookup) : (lookup ?? ofSystem),
    }),
  });
  try {
    const mail = {
      from: {name: 'Fieldmirror', address: from ?? to},
      to: {name: '', address: to},
      subject,
      text,
      ...(html === undefined ? {} : {html}),
      messageId: `<${messageId}@fieldmirror>`,
      headers: {'Auto-Submitted': 'auto-generated'},
      signal: AbortSignal.any([deadline, ...(signal === undefined ? [] : [signal])]),
    };
    const {response} = await transport.sendMail(mail);
    return response.slice(0, 3);
  } catch (error) {
    const failure = describeError(deadline.aborted ? deadlinePassed : error);
    throw new RetryableError(`${host}: expected it to take the mail, got ${failure}`);
  } finally {
    transport.close();
  }
}

interface MailSocketOptions {
  readonly host?: string | undefined;
  readonly port?: number | string | undefined;
}

/**
 * Connects for the library, whose own name look-up would accept any address. Without TLS, only this
 * machine gets the password and the mail.
 */
function makeSocketOpener({
  allowsLinkLocal,
  lookup: anyLookup,
}: {
  readonly allowsLinkLocal: boolean;
  readonly lookup: LookupFunction;
}) {
  const lookup = allowsLinkLocal ? anyLookup : refusingLookup(anyLookup);
  return (
    {host = '', port = 0}: MailSocketOptions,
    callback: (error: Error | null, opened?: {readonly connection: Socket}) => void,
  ): void => {
    if (!allowsLinkLocal && isRefusedAddress(host)) {
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

const deadlinePassed = {code: 'ETIMEDOUT'};

function describeError(error: unknown): string {
  const {code, responseCode} = error as {readonly code?: unknown; readonly responseCode?: unknown};
  const answer = typeof responseCode === 'number' ? `an answer of ${responseCode}` : 'none';
  return typeof code === 'string' ? `${answer} [${code}]` : answer;
}
