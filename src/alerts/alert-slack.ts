import {sendRequest, type Way} from '../feed/send-request.ts';
import {type AlertMessage, linesOf, titleOf} from './alert-message.ts';

/**
 * Sends a message to an incoming webhook of Slack. Its last line is the message's id: Slack itself
 * drops no repeat.
 */
export async function sendSlack(url: URL, message: AlertMessage, way: Way = {}): Promise<string> {
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
