import {randomBytes} from 'node:crypto';
import {Webhook} from 'standardwebhooks';
import type {Secret} from '../../base/secret.ts';
import {causeNumbers} from '../../warehouse/alerts/causes.ts';
import {type AlertMessage, mostNews, titleOf} from './message.ts';
import {sendRequest, type Way} from './request.ts';

const secretBytes = 32;

/** A secret that signs: `whsec_…`, as receivers' libraries take it. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64')}`;
}

/**
 * Sends a message as JSON, signed by the convention of Standard Webhooks.
 * @see docs/watching.md "Alerts"
 */
export async function sendWebhook(
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
      alerts: message.news.slice(0, mostNews).map((each) => ({...each, docs: causeNumbers[each.cause]})),
    },
  });
  return await sendSigned({url, secret}, {messageId: message.messageId, body}, way);
}

/** Sends a body once, signed by the convention of Standard Webhooks. @returns the answer, for a person: `200` */
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

function happenedAt({news}: AlertMessage): string | null {
  const last = news.at(-1);
  return last?.mendedAt ?? last?.openedAt ?? null;
}
