import {expect, test} from 'vitest';
import {reportOutcome} from '../../jobs/report-outcome.ts';
import {RetryableError} from '../../src/base/errors.ts';
import {createLogger} from '../../src/base/log.ts';

function linesAt(level: string, delayMs: number): string {
  const lines: string[] = [];
  const log = createLogger({level, secrets: [], destination: {write: (line) => void lines.push(line)}});
  reportOutcome(log, '7', {outcome: 'postponed', error: new RetryableError('the reason'), delayMs});
  return lines.join('');
}

test('a sweep that waits after a failure is a warning; one that is put back by a clean stop is none', () => {
  expect(linesAt('warn', 5_000)).toContain('the reason');
  expect(linesAt('warn', 0)).toBe('');
  expect(linesAt('info', 0)).toContain('the reason');
});
