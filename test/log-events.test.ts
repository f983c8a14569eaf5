// docs/watching.md "Logs" lists the events that a person may filter a log by.

import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
/**
 * The HTTP server's lines are of another kind: one for each request, told apart by route and
 * status.
 */
const code = execFileSync('git', ['ls-files', 'src', 'jobs'], {cwd: root, encoding: 'utf8'})
  .split('\n')
  .filter((path) => path.endsWith('.ts') && !/^src\/(?:console|http)\//.test(path));

/** Every call of a logger, up to the end of its facts. */
const calls = code.flatMap((path) =>
  [
    ...read(path).matchAll(
      /\blog\??(?:\[[^\]]+\]|\.(?:debug|info|warn|error))\(\s*([^;]*?\}|[^;]*)/g,
    ),
  ].map(([, facts = '']) => ({path, facts})),
);

/** The first words of events, as they stand beside `event:`. */
const families = new Set(
  code.flatMap((path) => [...read(path).matchAll(/\bevent: '([a-z]+)\./g)].map(([, word]) => word)),
);

/** An attribute of spans and a sequence, whose first word is that of events too. */
const others: ReadonlySet<string> = new Set(['server.address', 'service.ids']);

/** Events as the code writes them: beside `event:`, or as a name that a function chooses. */
const written = code.flatMap((path) => {
  const source = read(path);
  if (!/\bevent:/.test(source)) return [];
  return [...source.matchAll(/'(([a-z]+)\.(?!sql)[a-z_]+)'/g)]
    .filter(([, event = '', word = '']) => families.has(word) && !others.has(event))
    .map(([, event = '']) => event);
});

test('every log call in the code has an event', () => {
  expect(calls.length).toBeGreaterThan(20);
  const without = calls.filter(({facts}) => !/\bevent: |^\.\.\.describe/.test(facts));
  expect(without).toEqual([]);
});

test('docs/watching.md lists every event, and no other', () => {
  const [, section = ''] = /\n## Logs\n([\s\S]*?)\n## /.exec(read('docs/watching.md')) ?? [];
  const listed = [...section.matchAll(/^\| `([^`]+)` /gm)].map(([, event = '']) => event);
  expect(listed.toSorted()).toEqual([...new Set(written)].toSorted());
});
