import {expect, test} from 'vitest';
import {drawNextSteps} from '../../../src/commands/terminal/next-steps.ts';

test('next steps are called as they are typed: by npm in a checkout, by name where the program is installed', () => {
  expect(drawNextSteps('demo', {npm_lifecycle_event: 'start'})).toBe(
    [
      'What next:',
      '  npm run -s fieldmirror -- status  # health, and how old the knowledge of each stream can be',
      '  npm start                         # stays, mirrors by its schedules, and prints a link to the console',
      '  npm run -s fieldmirror -- init    # your own account in place of the made-up one: asks, and tests each answer',
    ].join('\n'),
  );
  expect(drawNextSteps('acme', {}).match(/^ {2}fieldmirror \w+/gm)).toEqual([
    '  fieldmirror status',
    '  fieldmirror start',
    '  fieldmirror ask',
  ]);
});
