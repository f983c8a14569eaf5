import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {catalogue, metricQuestions} from '../../src/http/metric-catalogue.ts';

const operating = readFileSync(join(import.meta.dirname, '../../docs/watching.md'), 'utf8');

test('metric names have base units, and only counters end in _total', () => {
  for (const {name, type} of catalogue) {
    expect(name).toMatch(/^fieldmirror_[a-z_]+$/);
    expect(name.endsWith('_total'), name).toBe(type === 'counter');
    expect(name).not.toMatch(
      /_(?:ms|milliseconds|minutes|hours|days|kb|mb|kilobytes|megabytes|percent)(?:_|$)/,
    );
    if (/_(?:age|duration|wait|overdue)(?:_|$)/.test(name)) expect(name).toMatch(/_seconds$/);
  }
  expect(new Set(catalogue.map(({name}) => name)).size).toBe(catalogue.length);
});

test('metric labels are account, stream, target, list or one of a fixed set of names', () => {
  const words = [
    'state',
    'mode',
    'schema',
    'table',
    'method',
    'result',
    'outcome',
    'reason',
    'kind',
    'version',
  ];
  const labels = new Set(catalogue.flatMap((metric) => metric.labels));
  expect(
    [...labels].filter(
      (label) => !['account', 'stream', 'target', 'list', ...words].includes(label),
    ),
  ).toEqual([]);
});

test('docs/watching.md lists every metric under its question, and no other', () => {
  const [, section = ''] = /^## Metrics$([\s\S]*?)^## /m.exec(operating) ?? [];
  const rows = section.match(/^\| (?!question|-).*$/gm) ?? [];
  const cells = rows.map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const expected = catalogue.map(({question, name, type, labels, help}, at) => [
    catalogue[at - 1]?.question === question ? '' : metricQuestions[question],
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ]);
  expect(cells.filter(([, name]) => name?.startsWith('`fieldmirror_'))).toEqual(expected);
});
