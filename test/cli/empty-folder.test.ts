// In a folder where nothing was set up, a verb that only looks makes nothing: no Postgres, no
// folder, no file.

import {mkdtemp, readdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import type {Command} from 'commander';
import {describe, expect, test} from 'vitest';
import {buildProgram} from '../../src/cli/program.ts';
import {runCommand} from '../support/command.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';

/** Verbs that make a warehouse where there is none, or whose work it is to make something. */
const makers = [
  ...[
    'init',
    'start',
    'sync',
    'push',
    'migrate',
    'service',
    'http',
    'open',
    'config apply',
    'keys add',
  ],
  ...['alerts add', 'hooks add', 'accounts add', 'quarantine retry', 'export dbt'],
];

/** The arguments of verbs that need some. */
const given: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ['show', 'retry', 'hold', 'release', 'cancel', 'accept', 'undo'].map((verb) => [
      `changes ${verb}`,
      ['1'],
    ]),
  ),
  'changes resolve': ['1', '--take', 'service'],
  ask: ['debtors'],
  explain: ['customers', '1'],
  'export csv': ['out'],
  'export parquet': ['out'],
  'alerts test': ['ops'],
  'alerts remove': ['ops'],
  'hooks remove': ['erp'],
  'hooks retry': ['erp'],
  'hooks skip': ['erp'],
  'keys revoke': ['erp'],
  'sweeps show': ['1'],
  'sweeps approve': ['1'],
  'quarantine show': ['1'],
  'accounts pause': ['north'],
  'accounts resume': ['north'],
  'accounts rename': ['north', 'south'],
  'accounts move': ['north', '--url', 'https://example.com'],
  'accounts remove': ['north'],
  'schedules set': ['jobs', '--every', '5m'],
  'schedules remove': ['jobs'],
  'schedules run': ['jobs'],
  'config plan': ['/dev/null'],
  forget: ['customers', '1'],
};

function listVerbs(command: Command, names: readonly string[] = []): string[] {
  const inner = command.commands.filter((each) => each.name() !== 'help');
  if (inner.length === 0) return [names.join(' ')];
  return inner.flatMap((each) => listVerbs(each, [...names, each.name()]));
}

const verbs = listVerbs(buildProgram(new AbortController().signal));

test('each verb in the lists of this test exists in the program', () => {
  for (const verb of [...makers, ...Object.keys(given)]) expect(verbs).toContain(verb);
});

describe('in an empty folder, nothing is created by', () => {
  test.concurrent.each(verbs.filter((verb) => !makers.includes(verb)))('%s', async (verb) => {
    const folder = await mkdtemp(join(temporaryFolder(), 'fieldmirror-empty-'));
    const ended = await runCommand([...verb.split(' '), ...(given[verb] ?? [])], {
      FIELDMIRROR_HOME: join(folder, 'home'),
    });
    const made = await readdir(folder);
    await rm(folder, {recursive: true});
    expect(made, ended.stdout + ended.stderr).toEqual([]);
    expect(ended.stderr).not.toContain('This is a bug');
  });
});

test('doctor reports that Postgres is missing and which command creates it', async () => {
  const folder = await mkdtemp(join(temporaryFolder(), 'fieldmirror-empty-'));
  const ended = await runCommand(['doctor', '--json'], {FIELDMIRROR_HOME: join(folder, 'home')});
  await rm(folder, {recursive: true});
  expect(ended).toMatchObject({code: 1, stderr: ''});
  const {findings} = JSON.parse(ended.stdout);
  expect(findings.find(({what}: {what: string}) => what === 'Postgres')).toMatchObject({
    state: 'warning',
    found: expect.stringMatching(/none exists yet in .*home.postgres; fieldmirror start makes it/),
  });
});
