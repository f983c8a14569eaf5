// docs/cli.md lists every command with its options, and docs/installing.md every variable.

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Command} from 'commander';
import {expect, test} from 'vitest';
import {buildProgram} from '../../src/cli/program.ts';

const root = join(import.meta.dirname, '..', '..');
const installing = await readFile(join(root, 'docs', 'installing.md'), 'utf8');
const config = await readFile(join(root, 'src', 'core', 'config.ts'), 'utf8');

function readSection(document: string, heading: string): string {
  const [, section = ''] = new RegExp(`^#+ ${heading}$([\\s\\S]*?)^#+ `, 'm').exec(document) ?? [];
  return section;
}

/** What the names of variables begin with. */
const families = 'FIELDMIRROR|DATABASE|REDIS|AWS';

const introduction = `# Commands

A test generates this page from the program: \`npx vitest run test/readme/tables.test.ts -u\`. Every
command also accepts \`--json\` and \`--help\`. The exit codes are in
[operating.md](operating.md#exit-codes).
`;

/** A command with its arguments and options, then its own commands. */
function describeCommand(command: Command, above: string): string {
  const names = command.registeredArguments.map((each) => {
    const name = `${each.name()}${each.variadic ? '…' : ''}`;
    return each.required ? ` <${name}>` : ` [${name}]`;
  });
  const call = `${above} ${command.name()}`;
  const given = [...command.registeredArguments, ...command.options].flatMap((each) => {
    const flags = 'flags' in each ? each.flags : each.name();
    const hasText = each.description !== '' && flags !== '--json';
    const choices = each.argChoices === undefined ? '' : ` (${each.argChoices.join(', ')})`;
    // As code: an address of a user at a host is else a link.
    const text = each.description.replaceAll(/[^\s,;]+:\/\/[^\s,;]+/g, '`$&`');
    return hasText ? [`- \`${flags}\`: ${text}${choices}`] : [];
  });
  const level = above === 'fieldmirror' ? '##' : '###';
  const description = command.description();
  const text = `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
  const list = given.length === 0 ? [] : [given.join('\n')];
  const heading = `${level} \`${call}${names.join('')}\``;
  const own = command.commands.map((each) => describeCommand(each, call));
  return [heading, text, ...list, ...own].join('\n\n');
}

test('docs/cli.md lists every command with its arguments and options', async () => {
  const {commands} = buildProgram(new AbortController().signal);
  const listed = commands.map((each) => describeCommand(each, 'fieldmirror'));
  const page = `${[introduction, ...listed].join('\n')}\n`.replaceAll('\n## ', '\n\n## ');
  await expect(page.replaceAll(/\n{3,}/g, '\n\n')).toMatchFileSnapshot('../../docs/cli.md');
});

test('the table of settings lists every variable, and no other', () => {
  const table = readSection(installing, 'Settings').match(/^\| `.*$/gm) ?? [];
  const named = new Set(table.join('\n').match(new RegExp(`\\b(?:${families})_[A-Z_]+`, 'g')));
  const read = new Set(
    config.match(new RegExp(`^ {2}(?:${families})_[A-Z_]+(?=:)`, 'gm'))?.map((name) => name.trim()),
  );
  expect([...named].toSorted()).toEqual([...read].toSorted());
});
