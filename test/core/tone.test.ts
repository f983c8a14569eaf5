// Colours at a terminal: which words have them, and where there are none.

import {describe, expect, test} from 'vitest';
import {hasColours, paint, toneOf} from '../../src/core/tone.ts';

/** Colours as letters in brackets. */
const show = (text: string) =>
  paint(text)
    .replaceAll('\u001b[32m', '<g:')
    .replaceAll('\u001b[33m', '<y:')
    .replaceAll('\u001b[31m', '<r:')
    .replaceAll('\u001b[39m', '>');

test.each([
  ['good     Postgres: version 18', '<g:good>     Postgres: version 18'],
  ['warning  alerts: no rule', '<y:warning>  alerts: no rule'],
  ['bad      Redis: expected an answer', '<r:bad>      Redis: expected an answer'],
  ['│ 7 │ certified 3 h ago, running │ 12 │', '│ 7 │ <g:certified> 3 h ago, running │ 12 │'],
  ['│ jobs │ in doubt │ done │', '│ jobs │ <y:in doubt> │ <g:done> │'],
  ['│ running │ pending │', '│ running │ pending │'],
  ['state      conflict: changed on both sides', 'state      <r:conflict>: changed on both sides'],
  ['sweep 7 of jobs: stopped', 'sweep 7 of jobs: <r:stopped>'],
  ['account acme, paused: stocktaking', 'account acme, <y:paused>: stocktaking'],
  ['jobs: failed, because it was killed', 'jobs: <r:failed>, because it was killed'],
  ['Nothing needs a person.', '<g:Nothing needs a person.>'],
  ['Needs a person:', '<r:Needs a person:>'],
])('%s', (line, painted) => {
  expect(show(`a\n${line}\nb`)).toBe(`a\n${painted}\nb`);
});

test.each([
  'failed to connect',
  'good morning',
  '│ undone │ badly │ activeness │',
  'a remark: done',
  '',
])('%s stays as it is', (line) => {
  expect(paint(line)).toBe(line);
});

test('a state has one tone, however it is written', () => {
  expect([toneOf('in_doubt'), toneOf('in doubt'), toneOf('nothing known')]).toEqual([
    ...['warning', 'warning', 'quiet'],
  ]);
});

describe('colours are for a terminal that has them', () => {
  const has = (answer: boolean) => (): boolean => answer;
  const terminal = {isTTY: true, hasColors: has(true)};
  test.each([
    ['a terminal', terminal, {TERM: 'xterm'}, true],
    ['a pipe', {}, {TERM: 'xterm'}, false],
    ['one without colours', {isTTY: true, hasColors: has(false)}, {}, false],
    ['NO_COLOR', terminal, {NO_COLOR: '1'}, false],
    ['NO_COLOR that is empty', terminal, {NO_COLOR: ''}, true],
    ['a dumb terminal', terminal, {TERM: 'dumb'}, false],
  ] as const)('%s: %s', (_, stream, env, areShown) => {
    expect(hasColours(stream, env)).toBe(areShown);
  });
});
