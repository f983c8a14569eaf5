import {expect, test} from 'vitest';
import {countSteps, type Screen} from '../../src/cli/progress.ts';

function openScreen(isTerminal: boolean): {readonly screen: Screen; readonly drawn: string[]} {
  const drawn: string[] = [];
  return {
    screen: {isTerminal, draw: (chunk) => void drawn.push(Buffer.from(chunk).toString())},
    drawn,
  };
}

test('at a terminal, the count of a long step is redrawn on one line', () => {
  const {screen, drawn} = openScreen(true);
  const counter = countSteps('living through 2 days', 2, screen);
  counter.at(1);
  counter.at(2);
  counter.end();
  expect(drawn.join('')).toBe(
    'living through 2 days …\rliving through 2 days: 1 of 2 …\rliving through 2 days: 2 of 2 …\n',
  );
});

test('without a terminal, no count is drawn', () => {
  const {screen, drawn} = openScreen(false);
  const counter = countSteps('living through 2 days', 2, screen);
  counter.at(1);
  counter.end();
  expect(drawn).toEqual([]);
});
