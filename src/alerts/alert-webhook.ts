import {causeNumbers} from '../core/errors.ts';
import type {Secret} from '../core/secret.ts';
import {sendSigned} from '../feed/deliver.ts';
import type {Way} from '../feed/send-request.ts';
import {type AlertMessage, mostNews, titleOf} from './alert-message.ts';

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
      alerts: message.news
        .slice(0, mostNews)
        .map((each) => ({...each, docs: causeNumbers[each.cause]})),
    },
  });
  return await sendSigned({url, secret}, {messageId: message.messageId, body}, way);
}

function happenedAt({news}: AlertMessage): string | null {
  const last = news.at(-1);
  return last?.mendedAt ?? last?.openedAt ?? null;
}
