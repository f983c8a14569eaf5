import {expect, test} from 'vitest';
import {callOf, formatNextSteps} from '../../src/cli/terminal.ts';

test('next steps are printed as a user types them: with npm in a checkout, else by name', () => {
  const script = 'node --x src/main.ts start';
  const drawn = formatNextSteps('demo', {
    npm_lifecycle_event: 'start',
    npm_lifecycle_script: script,
  });
  expect(drawn.split('\n').map((line) => line.replace(/ +# .*/, ''))).toEqual([
    'What next:',
    '  npm run -s fieldmirror -- status',
    '  npm start',
    '  npm run -s fieldmirror -- reset && npm run -s fieldmirror -- init',
  ]);
  expect(formatNextSteps('acme', {}).match(/^ {2}fieldmirror \w+/gm)).toEqual([
    '  fieldmirror status',
    '  fieldmirror start',
    '  fieldmirror ask',
  ]);
  const byNpx = {npm_lifecycle_event: 'npx', npm_lifecycle_script: 'fieldmirror start --once'};
  const byScript = {npm_lifecycle_event: 'mirror', npm_lifecycle_script: 'fieldmirror start'};
  expect([byNpx, byScript].map((env) => callOf('start --once', env))).toEqual([
    'npx fieldmirror start --once',
    'npx fieldmirror start --once',
  ]);
  expect(callOf('start --once', {npm_lifecycle_event: 'start', npm_lifecycle_script: script})).toBe(
    'npm start -- --once',
  );
});
