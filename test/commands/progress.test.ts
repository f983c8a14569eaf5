// The display on a terminal while sweeps are under way.

import {PassThrough} from 'node:stream';
import {expect, test} from 'vitest';
import {drawBars} from '../../src/commands/terminal/progress.ts';

/** A terminal that remembers its input. */
function openTerminal(): {readonly terminal: PassThrough; readonly read: () => string} {
  const terminal = Object.assign(new PassThrough(), {isTTY: true, columns: 120});
  return {terminal, read: () => String(terminal.read() ?? '')};
}

test('a stream whose total is unknown has a count and no bar', () => {
  const {terminal, read} = openTerminal();
  const bars = drawBars(terminal);
  bars.begin('jobs', 0);
  bars.advance({stream: 'jobs', records: 1200});
  bars.close();
  const drawn = read();
  expect(drawn).toContain('jobs       1,200 records so far');
  expect(drawn).not.toMatch(/[█░]/);
});

test('a stream that was swept before has a bar, which never runs over', () => {
  const {terminal, read} = openTerminal();
  const bars = drawBars(terminal);
  bars.begin('jobs', 3000);
  bars.advance({stream: 'jobs', records: 1500});
  bars.close();
  expect(read()).toContain(`jobs       ${'█'.repeat(16)}${'░'.repeat(16)} 1,500 of about 3,000 records`);
  const more = drawBars(terminal);
  more.begin('jobs', 3000);
  more.advance({stream: 'jobs', records: 3100});
  more.close();
  expect(read()).toContain(`jobs       ${'█'.repeat(32)} 3,100 of about 3,000 records`);
});

test('a sweep that has ended says how, in the place of its bar, and closing twice draws nothing more', () => {
  const {terminal, read} = openTerminal();
  const bars = drawBars(terminal);
  bars.begin('tasks', 0);
  bars.end('tasks', 'tasks      certified: 786 records in 28 pages');
  bars.close();
  expect(read()).toContain('tasks      certified: 786 records in 28 pages');
  bars.close();
  expect(read()).toBe('');
});
