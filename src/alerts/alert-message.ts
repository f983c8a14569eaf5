// The words of a message. Names and reasons in it come from elsewhere: each stays on its line, and
// each receiver escapes it as it must.

import {seeDocs} from '../core/errors.ts';
import type {News} from './alert-deliveries.ts';

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
export const mostNews = 20;
const longestTitle = 150;
const longestLine = 500;

/** One line: `acme, jobs: the last full sweep failed: …` */
export function titleOf({kind, rule, news}: AlertMessage): string {
  const [first] = news;
  if (kind === 'test') return `a test of the alert rule ${rule}`;
  if (kind !== 'digest' && first !== undefined) return cut(describe(first), longestTitle);
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
  const told = news.slice(0, mostNews).flatMap((each) => [describe(each), ...detailsOf(each)]);
  const left = news.length - mostNews;
  return left > 0 ? [...told, `and ${left} more: fieldmirror alerts list`] : told;
}

function describe({news, account, stream, text}: News): string {
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
