// docs/operating.md has a table that names every verb with its options, and docs/installing.md one
// with every variable.

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';

const root = join(import.meta.dirname, '..', '..');
const operating = await readFile(join(root, 'docs', 'operating.md'), 'utf8');
const installing = await readFile(join(root, 'docs', 'installing.md'), 'utf8');
const config = await readFile(join(root, 'src', 'core', 'config.ts'), 'utf8');
const detail = readSection(operating, 'Verbs in detail');
const verbs = readVerbs(detail);

function readSection(document: string, heading: string): string {
  const [, section = ''] = new RegExp(`^#+ ${heading}$([\\s\\S]*?)^#+ `, 'm').exec(document) ?? [];
  return section;
}

function readVerbs(section: string): {verb: string; options: string[]}[] {
  const rows = section.matchAll(/^\| `(\w+)([^|]*(?:\\\|[^|]*)*)\|/gm);
  return [...rows].map(([, verb = '', rest = '']) => ({
    verb,
    options: rest.match(/--[a-z-]+/g) ?? [],
  }));
}

async function help(...args: string[]): Promise<string> {
  const {code, stdout, stderr} = await runCommand([...args, '--help'], {});
  expect(code, stderr).toBe(0);
  return stdout;
}

test('every verb is in the table of verbs, and no other', async () => {
  const [, listed = ''] = /^Commands:\n((?: .*\n)+)/m.exec(await help()) ?? [];
  const known = [...listed.matchAll(/^ {2}(\w+)/gm)].map(([, verb]) => verb);
  expect(known.length).toBeGreaterThan(10);
  expect(verbs.map(({verb}) => verb).toSorted()).toEqual(
    known.filter((verb) => verb !== 'help').toSorted(),
  );
});

describe.each(verbs.filter(({options}) => options.length > 0))('$verb', ({verb, options}) => {
  test('has the options that the table names', async () => {
    const [, second] = new RegExp(`\\\`${verb} (\\w+) NAME`).exec(detail) ?? [];
    const told = await help(verb, ...(second === undefined ? [] : [second]));
    expect(options.filter((option) => !told.includes(option))).toEqual([]);
  });
});

test('every variable is in the table of variables, and no other', () => {
  const table = readSection(installing, 'Settings').match(/^\| `.*$/gm) ?? [];
  const named = new Set(table.join('\n').match(/\b(?:FIELDMIRROR|DATABASE|REDIS)_[A-Z_]+/g));
  const read = new Set(
    config.match(/^ {2}(?:FIELDMIRROR|DATABASE|REDIS)_[A-Z_]+(?=:)/gm)?.map((name) => name.trim()),
  );
  expect([...named].toSorted()).toEqual([...read].toSorted());
});
