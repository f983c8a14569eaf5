// One mail to a receiver, through a server of e-mail. The library is loaded when the first one is
// sent.

import {connect, type LookupFunction, type Socket} from 'node:net';
import {isRefusedAddress, refusingLookup, toRefusal} from '../api/addresses.ts';
import {RetryableError} from '../core/errors.ts';
import type {SmtpServer, Way} from './receivers.ts';

/** A mail, whoever gets it. */
export interface Mail {
  /** The same in each try: a program of mail that has it already may drop the repeat. */
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  /** The same as HTML; left out: text alone. */
  readonly html?: string;
}

const timeoutMs = 10_000;

/**
 * Sends a mail to one address, once.
 * @returns the answer of the server: `250`
 * @throws {RetryableError} it names the server and its code, never its words, which may repeat what
 *   was said to it
 */
export async function sendEmail(
  {to, server}: {readonly to: string; readonly server: SmtpServer},
  {messageId, subject, text, html}: Mail,
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
      ...{subject, text},
      ...(html === undefined ? {} : {html}),
      messageId: `<${messageId}@fieldmirror>`,
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
