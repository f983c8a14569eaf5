// Alerts by e-mail, as plain text. The library is loaded when the first one is sent.

import {RetryableError} from '../../base/errors.ts';
import {type AlertMessage, linesOf, titleOf} from './message.ts';
import type {SmtpServer} from './target.ts';

const timeoutMs = 10_000;

/**
 * Sends a message. Its Message-ID is the same in each try, by which programs of mail drop a repeat.
 * @returns the answer of the server: `250`
 * @throws {RetryableError} it names the server and its code, never its words, which may repeat what was said to it
 */
export async function sendEmail(
  {to, server}: {readonly to: string; readonly server: SmtpServer},
  message: AlertMessage,
  signal?: AbortSignal,
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
    throw new RetryableError(`${host}: expected it to take the mail, got ${describe(error)}`);
  } finally {
    transport.close();
  }
}

function describe(error: unknown): string {
  const {code, responseCode} = error as {readonly code?: unknown; readonly responseCode?: unknown};
  const answer = typeof responseCode === 'number' ? `an answer of ${responseCode}` : 'none';
  return typeof code === 'string' ? `${answer} [${code}]` : answer;
}
