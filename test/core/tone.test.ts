// Colours at a terminal: which words have them, and where there are none.

import {describe, expect, test} from 'vitest';
import {
  countColumns,
  dropMarks,
  fold,
  hasColours,
  inTone,
  paint,
  toneOf,
} from '../../src/core/text.ts';

/** Colours as letters in brackets. */
const show = (text: string) =>
  paint(text)
    .replaceAll('\u001b[32m', '<g:')
    .replaceAll('\u001b[33m', '<y:')
    .replaceAll('\u001b[31m', '<r:')
    .replaceAll('\u001b[39m', '>');

test.each([
  [
    `│ 7 │ ${inTone('certified')} 3 h ago, running │ 12 │`,
    '│ 7 │ <g:certified> 3 h ago, running │ 12 │',
  ],
  [`│ ${inTone('in doubt')} │ ${inTone('done')} │`, '│ <y:in> <y:doubt> │ <g:done> │'],
  [`state      ${inTone('conflict')}: changed`, 'state      <r:conflict>: changed'],
  [inTone('Nothing needs a person.', 'good'), '<g:Nothing> <g:needs> <g:a> <g:person.>'],
  [`${inTone('running')} ${inTone('pending')} ${inTone('skipped')}`, 'running pending skipped'],
  ['│ done │ good     Postgres: failed', '│ done │ good     Postgres: failed'],
])('paint colours only marked words: %s', (text, painted) => {
  expect(show(text)).toBe(painted);
});

test('a marked text is as wide as without its marks, and folds the same', () => {
  const marked = `sweep 7: ${inTone('stopped')}, ${inTone('in doubt')}`;
  const plain = 'sweep 7: stopped, in doubt';
  expect(dropMarks(marked)).toBe(plain);
  expect(countColumns(marked)).toBe(plain.length);
  expect(dropMarks(fold(marked, 14))).toBe(fold(plain, 14));
});

test('a cut word leaves no trace of its mark', () => {
  const [mark = ''] = inTone('good');
  expect(paint(`${mark}\ncert${mark}`)).toBe('\ncert');
});

test('a state has one tone, with an underscore or a blank', () => {
  expect([toneOf('in_doubt'), toneOf('in doubt'), toneOf('nothing known')]).toEqual([
    ...['warning', 'warning', 'quiet'],
  ]);
});

describe('colours depend on the terminal and on NO_COLOR', () => {
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
