import {expect, test} from 'vitest';
import {drawNextSteps} from '../../../src/commands/terminal/next-steps.ts';

test('next steps are called as they are typed: by npm in a checkout, by name where the program is installed', () => {
  const drawn = drawNextSteps('demo', {npm_lifecycle_event: 'start'});
  expect(drawn.split('\n').map((line) => line.replace(/ +# .*/, ''))).toEqual([
    'What next:',
    '  npm run -s fieldmirror -- status',
    '  npm start',
    '  npm run -s fieldmirror -- reset && npm run -s fieldmirror -- init',
  ]);
  expect(drawNextSteps('acme', {}).match(/^ {2}fieldmirror \w+/gm)).toEqual([
    '  fieldmirror status',
    '  fieldmirror start',
    '  fieldmirror ask',
  ]);
});
