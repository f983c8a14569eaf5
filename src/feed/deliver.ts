// A body that is sent once, signed by the convention of Standard Webhooks.

import {randomBytes} from 'node:crypto';
import {Webhook} from 'standardwebhooks';
import type {Secret} from '../core/secret.ts';
import {sendRequest, type Way} from './send-request.ts';

const secretBytes = 32;

/** A secret that signs: `whsec_…`, as receivers' libraries take it. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64')}`;
}

/**
 * Sends a body once, signed by the convention of Standard Webhooks. @returns the answer, for a
 * person: `200`
 */
export async function sendSigned(
  {url, secret}: {readonly url: URL; readonly secret: Secret},
  {messageId, body}: {readonly messageId: string; readonly body: string},
  way: Way = {},
): Promise<string> {
  const id = `msg_${messageId}`;
  const at = new Date();
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret.reveal()).sign(id, at, body),
  };
  return await sendRequest({url, body, headers, ...way});
}
