// A short command answers quickly only if its verb loads few packages: loading takes most of its
// time. The source is run, since a bundle no longer tells which packages are in it.

import {existsSync} from 'node:fs';
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, expect, inject, test} from 'vitest';
import {startProgram} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

const noter = join(import.meta.dirname, '..', 'support', 'note-packages.ts');
const sources = join(import.meta.dirname, '..', '..', 'src');

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
});

afterAll(() => database.drop());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-packages-'));
});

afterEach(() => rm(folder, {recursive: true}));

/**
 * Runs a command that succeeds. @returns the packages that our own code imported, in alphabetical
 * order
 */
async function notePackages(...args: string[]): Promise<string[]> {
  return await notePackagesOf('main.ts', ...args);
}

/** The same for any program of ours. */
async function notePackagesOf(file: string, ...args: string[]): Promise<string[]> {
  const noted = join(folder, 'packages.txt');
  const env = {
    DATABASE_URL: database.url,
    NODE_OPTIONS: `--import=${noter}`,
    NOTED_PACKAGES: noted,
  };
  expect(
    await startProgram([process.execPath, join(sources, file), ...args], env).ended,
  ).toMatchObject({
    code: 0,
    stderr: '',
  });
  const names = existsSync(noted) ? (await readFile(noted, 'utf8')).trimEnd().split('\n') : [];
  return [...new Set(names)].sort();
}

const readingVerbs = ['status', 'sweeps list', 'quarantine list', 'accounts list', 'keys list'];

test.each(readingVerbs)(
  '%s loads only what it needs to query the warehouse, and no client, logger or queue',
  async (verb) => {
    const packages = ['commander', 'fastest-levenshtein', 'pg'];
    expect(await notePackages(...verb.split(' '))).toEqual(packages);
  },
);

test('--help loads only the command line parser', async () => {
  expect(await notePackages('--help')).toEqual(['commander']);
});

test('--version loads no package', async () => {
  expect(await notePackages('--version')).toEqual([]);
});

test('the thread that parses pages loads no Postgres driver', async () => {
  const packages = ['fastest-levenshtein', 'saxes', 'temporal-polyfill'];
  expect(await notePackagesOf('sweeps/page-reader.ts')).toEqual(packages);
});
