import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import {nodeFlags} from './support/command.ts';

// A shell, a manifest, an image and the first line of the program each write them themselves.
test.each(['package.json', 'bin/fieldmirror', 'Dockerfile', 'src/program/main.ts'])(
  'Node runs with the same limits of its heap wherever the program is called, in benches and tests too: %s',
  (path) => {
    const flags = readFileSync(path, 'utf8').match(/--(?:max-semi-space-size|heap-growing-percent)=\d+/g);
    expect([...new Set(flags)]).toEqual(nodeFlags);
  },
);
