// The words of a message: what another made up stays text, on its line.

import {describe, expect, test} from 'vitest';
import type {News} from '../../src/alerts/deliveries.ts';
import {type AlertMessage, composeTitle, listLines} from '../../src/alerts/send.ts';

function news(more: Partial<News> = {}): News {
  return {
    alertId: '1',
    news: 'opened',
    cause: 'failed',
    account: 'acme',
    stream: 'jobs',
    subject: '',
    since: '2026-11-02T08:15:30Z',
    text: 'the last full sweep failed',
    nextStep: 'fieldmirror sweeps list',
    openedAt: '2026-11-02T08:16:00Z',
    resolvedAt: null,
    ...more,
  };
}

const message = (...told: readonly News[]): AlertMessage => ({
  messageId: '0f3c',
  kind: told.length > 1 ? 'digest' : (told[0]?.news ?? 'test'),
  rule: 'ops',
  news: told,
});

test('a message shows the problem, its place, its start and the next step', () => {
  expect(composeTitle(message(news()))).toBe('acme, jobs: the last full sweep failed');
  expect(listLines(message(news()))).toEqual([
    'acme, jobs: the last full sweep failed',
    '  since 2026-11-02 08:15 UTC',
    '  fieldmirror sweeps list',
    '  see: fieldmirror explain A07',
  ]);
});

test('a message about a resolved problem shows its start and its end', () => {
  const over = message(news({news: 'resolved', resolvedAt: '2026-11-02T09:00:00Z'}));
  expect(composeTitle(over)).toBe('over: acme, jobs: the last full sweep failed');
  expect(listLines(over)[1]).toBe('  from 2026-11-02 08:15 UTC to 2026-11-02 09:00 UTC');
});

test('a message leaves out the place if the problem concerns no account', () => {
  expect(
    composeTitle(message(news({account: null, stream: null, text: 'no worker is alive'}))),
  ).toBe('no worker is alive');
});

test('a digest counts the open and the resolved alerts and lists the first twenty', () => {
  const many = message(
    ...Array.from({length: 30}, (_, at) => news(at < 7 ? {news: 'resolved'} : {})),
  );
  expect(composeTitle(many)).toBe('30 alerts: 23 need a person, 7 are over');
  expect(listLines(many).filter((line) => !line.startsWith(' '))).toHaveLength(21);
  expect(listLines(many).at(-1)).toBe('and 10 more: fieldmirror alerts list');
});

describe('untrusted text in a message', () => {
  test.each(['\r\nBcc: all@example.com', '\u2028next', '\u202eback', '\u0000\u001b[31m', '\u0085'])(
    '%j adds no control, line-break or direction character',
    (text) => {
      const told = message(news({text: `a${text}z`, account: `a${text}z`, nextStep: `a${text}z`}));
      for (const line of [composeTitle(told), ...listLines(told)])
        expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u);
    },
  );

  test('is truncated if it is too long, but never inside a character', () => {
    const told = message(news({text: '\u{1f4a5}'.repeat(10_000)}));
    expect(composeTitle(told).length).toBeLessThanOrEqual(150);
    for (const line of listLines(told)) expect(line.length).toBeLessThanOrEqual(500);
    expect(composeTitle(told).isWellFormed()).toBe(true);
  });
});
