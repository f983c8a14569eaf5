import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';

// A shell, a manifest, an image, the first line of the program, and benches and tests each write
// them themselves.
test.each([
  'package.json',
  'bin/fieldmirror',
  'Dockerfile',
  'src/main.ts',
  'test/support/command.ts',
])('Node runs with the same limits of its heap wherever the program is called: %s', (path) => {
  const flags = readFileSync(path, 'utf8').match(
    /--(?:max-semi-space-size|initial-heap-size|heap-growing-percent)=\d+/g,
  );
  expect([...new Set(flags)]).toEqual([
    '--max-semi-space-size=4',
    '--initial-heap-size=36',
    '--heap-growing-percent=50',
  ]);
});
