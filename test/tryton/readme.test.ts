// Each command that the README of the Tryton example shows exists as it is typed. The long test
// does what they do, with the real Tryton.

import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';

const example = join(import.meta.dirname, '..', '..', 'examples', 'tryton');
const read = (name: string) => readFileSync(join(example, name), 'utf8');
const readme = read('README.md');

/** Lines of the blocks of shell, those that go on as one; without what is typed into a program. */
const lines = [...readme.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].flatMap(([, block = '']) =>
  block
    .replaceAll(/\\\n\s*/g, '')
    .replaceAll(/<<'END'\n[\s\S]*?^\s*END\n/gm, '\n')
    .split('\n')
    .map((line) => line.replace(/\s+# .*/, '').trim())
    .filter((line) => line !== ''),
);
/** Commands in the text, too: `.venv/bin/python connector.py --begin`. */
const typed = [...lines, ...[...readme.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)];

/** Whether the connector takes its arguments. */
function connector(args: readonly string[]) {
  const env = {...process.env, PYTHONDONTWRITEBYTECODE: '1'};
  const settings = ['WAREHOUSE_URL', 'WAREHOUSE_KEY', 'TRYTON_URL', 'TRYTON_USER'];
  const given = [...settings, 'TRYTON_PASSWORD'].map((name) => [name, 'x'] as const);
  return spawnSync('python3', ['connector.py', ...args, '--help'], {
    cwd: example,
    encoding: 'utf8',
    env: {...env, ...Object.fromEntries(given)},
  });
}

/** The arguments of each of its calls, and options that the text names alone. */
const ofConnector = typed.flatMap((line) => {
  const [, rest] = /(?:^|python3? )connector\.py\b(?! \S*\/)([^>]*)/.exec(line) ?? [];
  return rest === undefined ? [] : [rest.trim()];
});
const options = typed.filter((code) => /^--(begin|once|parties|winner)\b/.test(code));

describe('the connector', () => {
  test('is called in the README', () => {
    expect(ofConnector).toEqual(expect.arrayContaining(['--parties', '--begin', '']));
    expect(options).toContain('--winner tryton');
  });

  test.each([...new Set([...ofConnector, ...options])])('accepts "%s"', (args) => {
    const {status, stderr} = connector(args.split(' ').filter((arg) => arg !== ''));
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  test('rejects an unknown value of an option', () => {
    expect(connector(['--winner', 'nobody']).status).toBe(2);
  });
});

const verbs = typed.flatMap((line) => {
  const [, words] =
    /fieldmirror -- ([^|)]+)/.exec(line) ??
    /^(?:fieldmirror )?((?:links|changes|keys|match) [^|)]+)$/.exec(line) ??
    [];
  return words === undefined ? [] : [words.trim()];
});

test.each(['keys add', 'match customers', 'links set', 'changes release', 'changes cancel'])(
  'the README uses fieldmirror %s',
  (verb) => {
    expect(verbs.some((words) => words.startsWith(verb))).toBe(true);
  },
);

test.each(verbs)(
  'fieldmirror %s exists, with its options',
  async (words) => {
    const parts = words.split(' ');
    const first = parts.findIndex((part, at) => at > 0 && /^["-]/.test(part));
    const path = (first === -1 ? parts : parts.slice(0, first)).slice(0, 2);
    const name = path[0] === 'match' ? path.slice(0, 1) : path;
    const {code, stdout} = await runCommand([...name, '--help'], {});
    expect(code).toBe(0);
    expect(stdout).toContain(`fieldmirror ${name.join(' ')}`);
    for (const option of parts.filter((part) => part.startsWith('--')))
      expect(stdout).toMatch(new RegExp(`${option}(?![\\w-])`));
  },
  60_000,
);

test('the files, modules and packages in the README match the example folder', () => {
  for (const name of ['requirements.txt', 'pyproject.toml', 'connector.py'])
    expect(existsSync(join(example, name)), name).toBe(true);
  expect(lines.some((line) => line.endsWith('pip install -r requirements.txt .'))).toBe(true);
  expect(lines.some((line) => line.includes('-u fieldmirror --activate-dependencies'))).toBe(true);
  expect(read('pyproject.toml')).toContain('\nfieldmirror = "fieldmirror"');
  const [, group] = /"name", "=", "([^"]+)"/.exec(readme) ?? [];
  expect(read('fieldmirror/sync.xml')).toContain(`<field name="name">${group}</field>`);
  const [, series] = /proteus==(\d+\.\d+)\./.exec(readme) ?? [];
  expect(read('requirements.txt')).toMatch(`trytond==${series}.`);
  const settings = [...read('connector.py').matchAll(/os\.environ\[["'](\w+)["']\]/g)];
  expect(settings.length).toBeGreaterThan(3);
  for (const [, name] of settings) expect(readme).toMatch(new RegExp(`export .*\\b${name}\\b`));
});
