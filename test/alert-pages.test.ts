// Each cause of an alert has a section in docs/alerts.md, and each section has its cause.

import {describe, expect, test} from 'vitest';
import {causeNumbers, causes} from '../src/core/errors.ts';
import {listCodeSections, readDocument} from '../src/core/package.ts';

const sections = listCodeSections().filter(({document}) => document === 'alerts');

test('each alert cause has one section in docs/alerts.md, in the order of the codes', () => {
  const written = sections.map(({anchor}) => anchor);
  const known = causes.map((cause) => `${causeNumbers[cause]}-${cause}`.toLowerCase());
  expect(written).toEqual(known.toSorted());
  expect(new Set(Object.values(causeNumbers)).size).toBe(causes.length);
});

describe.each(sections)('$code', ({text}) => {
  test('explains its meaning, its causes, what to do, and when the alert is over', () => {
    const parts = text.split(/^\*\*(?:Causes|What to do)\*\*$/m).map((part) => part.trim());
    expect(text.match(/^\*\*[^*.]+\*\*$/gm)).toEqual(['**Causes**', '**What to do**']);
    expect(parts.filter((part) => part.length < 80)).toEqual([]);
    expect(parts[2]).toMatch(/`fieldmirror [a-z]+/);
    expect(text.replaceAll('\n', ' ')).toMatch(/ The alert is over when .*\. *$/);
  });
});

test('the table links to each section, next to the name of its cause', () => {
  const row = /^\| \[(A\d\d)\]\(#(\S+)\) +\| `([\w-]+)` +\|/gm;
  const rows = readDocument('alerts').matchAll(row);
  expect([...rows].map(([, code, anchor, cause]) => `${code} ${anchor} ${cause}`)).toEqual(
    sections.map(({code, anchor}) => `${code} ${anchor} ${anchor.slice(4)}`),
  );
});
