// The display on a terminal while sweeps are under way.

import {PassThrough} from 'node:stream';
import {describe, expect, test} from 'vitest';
import {formatBars, formatPushBar, printLines, printPushLines} from '../../src/cli/progress.ts';

/** A terminal that remembers its input. */
function openTerminal(): {readonly terminal: PassThrough; readonly read: () => string} {
  const terminal = Object.assign(new PassThrough(), {isTTY: true, columns: 120});
  return {terminal, read: () => String(terminal.read() ?? '')};
}

test('a stream whose total is unknown has a count and no bar', () => {
  const {terminal, read} = openTerminal();
  const bars = formatBars(terminal);
  bars.begin('jobs', 0);
  bars.advance({stream: 'jobs', records: 1200});
  bars.close();
  const drawn = read();
  expect(drawn).toContain('jobs       1,200 records so far');
  expect(drawn).not.toMatch(/[█░]/);
});

test('a stream that was swept before has a bar, which never exceeds its width', () => {
  const {terminal, read} = openTerminal();
  const bars = formatBars(terminal);
  bars.begin('jobs', 3000);
  bars.advance({stream: 'jobs', records: 1500});
  bars.close();
  expect(read()).toContain(
    `jobs       ${'█'.repeat(16)}${'░'.repeat(16)} 1,500 of about 3,000 records`,
  );
  const more = formatBars(terminal);
  more.begin('jobs', 3000);
  more.advance({stream: 'jobs', records: 3100});
  more.close();
  expect(read()).toContain(`jobs       ${'█'.repeat(32)} 3,100 of about 3,000 records`);
});

test('a sweep that has ended shows its result; closing twice draws nothing more', () => {
  const {terminal, read} = openTerminal();
  const bars = formatBars(terminal);
  bars.begin('tasks', 0);
  bars.end('tasks', 'tasks      certified: 786 records in 28 pages');
  bars.close();
  expect(read()).toContain('tasks      certified: 786 records in 28 pages');
  bars.close();
  expect(read()).toBe('');
});

describe('a rate and the time left', () => {
  test('are shown beside the bar of a sweep, measured from its first batch', () => {
    const {terminal, read} = openTerminal();
    let now = 0;
    const bars = formatBars(terminal, () => now);
    bars.begin('jobs', 3_000);
    now = 60_000; // It waited for another sweep.
    bars.advance({stream: 'jobs', records: 30});
    now = 70_000;
    bars.advance({stream: 'jobs', records: 1_500});
    bars.close();
    expect(read()).toContain('1,500 of about 3,000 records, 150 a second, 10 s left');
  });

  test('are shown beside the bar of a push', () => {
    const {terminal, read} = openTerminal();
    let now = 0;
    const bar = formatPushBar(terminal, () => now);
    bar.begin('acme', 400);
    now = 10_000;
    for (let n = 0; n < 100; n++) bar.advance();
    bar.close();
    expect(read()).toContain(
      `acme ${'█'.repeat(8)}${'░'.repeat(24)} 100 of 400 changes, 10 a second, 30 s left`,
    );
  });
});

describe('progress in a pipe', () => {
  test('a sweep prints a line when it begins, then at most one every ten seconds', () => {
    const lines: string[] = [];
    let now = 0;
    const progress = printLines(
      () => now,
      (line) => void lines.push(line),
    );
    progress.begin('jobs', 3_000);
    for (now = 1_000; now <= 25_000; now += 1_000)
      progress.advance({stream: 'jobs', records: now / 10});
    expect(lines).toEqual([
      'sweeping jobs',
      'sweeping jobs: 1,000 of about 3,000 records, 100 a second, 20 s left',
      'sweeping jobs: 2,000 of about 3,000 records, 100 a second, 10 s left',
    ]);
  });

  test('a push prints a line at each tick until it ends, even if no change has ended', () => {
    const lines: string[] = [];
    const ticks = new Set<() => void>();
    let now = 0;
    const progress = printPushLines(
      (call, everyMs) => {
        expect(everyMs).toBe(10_000);
        ticks.add(call);
        return () => ticks.delete(call);
      },
      () => now,
      (text) => void lines.push(text),
    );
    const tick = () => {
      now += 10_000;
      for (const call of ticks) call();
    };
    progress.begin('idle', 0);
    expect(ticks.size).toBe(0);
    progress.begin('acme', 400);
    for (let n = 0; n < 100; n++) progress.advance();
    tick();
    tick();
    progress.close();
    tick();
    expect(lines).toEqual([
      'pushing acme: 100 of 400 changes, 10 a second, 30 s left …\n',
      'pushing acme: 100 of 400 changes, 5 a second, 1 min left …\n',
    ]);
  });

  test('changes that are added while the push runs increase the total', () => {
    const {terminal, read} = openTerminal();
    const bar = formatPushBar(terminal, () => 0);
    bar.begin('acme', 1);
    for (let n = 0; n < 3; n++) bar.advance();
    bar.close();
    expect(read()).toContain('3 of 3 changes');
  });
});
