// Every block of the README and of docs/, from top to bottom, in the order of the README's list, on
// the made-up business, as a reader would type it in: SQL as the user that its first line names,
// with the real service and the real workers. A new block is held to this as well.

import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {loadConfig} from '../../src/core/config.ts';
import {
  type Block,
  findBlocks,
  readBlocks,
  readOrder,
  readStatements,
  type Statement,
} from './blocks.ts';
import {openReader, type Reader} from './reader.ts';

const blocks = await readBlocks();
/** Placeholder addresses: a block with one needs the reader's own account, Postgres or Redis. */
const needsYours = /(?:\/\/|@)\w+\.example\.com/;
/**
 * Headings of drawings; test/changes/change-states.pg.test.ts compares the second one, and
 * dictionary.pg.test.ts the third one.
 */
const drawings = ['Fieldmirror', 'The life of a change', 'Diagram of the warehouse'];

/** Values as a terminal shows them. */
const types = {getTypeParser: () => (value: unknown) => String(value)};

let reader: Reader;
let session: pg.Client;
beforeAll(async () => {
  reader = await openReader();
});
afterAll(() => reader.close());

describe.each(blocks)('$place', (block) => {
  if (block.language === 'sh' && needsYours.test(block.text))
    test('needs the reader’s account or server, and has valid settings', () => checkYours(block));
  else if (block.language === 'sh')
    test('runs as printed, and prints the output shown', () => checkCommands(block), 120_000);
  else if (block.language === 'sql')
    test('runs as printed, with the role that it names', () => checkStatements(block));
  else if (block.language === 'yaml')
    test('is a settings file that config plan accepts', () => checkSettings(block), 120_000);
  else if (block.language === 'mermaid')
    test('is one of the known diagrams', () => expect(drawings).toContain(block.heading));
  else if (block.language === 'duckdb')
    test('is for DuckDB, and in docs/delivery.md, which test/delivery runs', () =>
      expect(block.place).toContain('docs/delivery.md'));
  else if (block.language === 'dbt')
    test('is for dbt, and in docs/bi-tools.md, which test/dbt runs', () =>
      expect(block.place).toContain('docs/bi-tools.md'));
  else if (block.language === '') test('is output of the section Speed', () => checkLoose(block));
  else
    test('has a language that this test can run', () =>
      expect(['sh', 'sql', '']).toContain(block.language));
});

test('every change that the blocks wrote is done or cancelled', async () => {
  session = await reader.connect('fieldmirror');
  const {rows} = await session.query<{state: string}>(
    `SELECT change_id, table_name, fields, sync.wait(change_id, '30 s') AS state FROM sync.changes
     ORDER BY change_id`,
  );
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter(({state}) => state !== 'done' && state !== 'cancelled')).toEqual([]);
});

async function checkCommands(block: Block): Promise<void> {
  const printed = await reader.type(block);
  expect(printed).not.toMatch(/^## ended with/m);
  if (block.shown === null) return;
  const lines = new Set(printed.split('\n').map(generalise));
  expect(
    block.shown.split('\n').filter((line) => !lines.has(generalise(line))),
    printed,
  ).toEqual([]);
}

async function checkSettings(block: Block): Promise<void> {
  const text = `fieldmirror config plan - <<'END'\n${block.text}\nEND`;
  expect(await reader.type({...block, text})).toMatch(/^would change:$/m);
}

/**
 * Replaces the parts that differ each time: ports, tokens, counts and times, and the widths that
 * follow.
 */
function generalise(line: string): string {
  return line
    .replace(/\/\S*\/data\b/, '.fieldmirror')
    .replace(/\b[\da-f]{8,}\b/g, 'token')
    .replace(/\(\d+ \w+ ago\)/, '(n s ago)')
    .replace(/\d[\d,.:]*/g, 'n')
    .replace(/[\s─]+/g, ' ')
    .trim();
}

async function checkStatements(block: Block): Promise<void> {
  const statements = readStatements(block);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements) {
    if (statement.isFirst) session = await reader.connect(statement.role);
    await checkStatement(statement);
  }
}

/** Checks that a statement succeeds; the comment behind a SELECT is its result. */
async function checkStatement({sql, said}: Statement): Promise<void> {
  const {rows, rowCount, command} = await session.query({text: sql, rowMode: 'array', types});
  if (['SELECT', 'INSERT', 'UPDATE', 'DELETE'].includes(command))
    expect({sql, rows: rowCount}).not.toMatchObject({rows: 0});
  reader.note(sql);
  if (command !== 'SELECT' || said === null) return;
  const variables = /^[A-Z]+(, [A-Z]+)*$/.test(said) ? said.split(', ') : [];
  if (variables.length > 0) await reader.keep(variables, rows[0] ?? []);
  else expect({sql, result: (rows[0] ?? []).join(', ')}).toEqual({sql, result: said});
}

/** Checks that the exports of a block are a configuration that Fieldmirror takes. */
async function checkYours({text}: Block): Promise<void> {
  const exports = text.split('\n').filter((line) => line.startsWith('export '));
  expect(exports).not.toEqual([]);
  const {stdout} = await promisify(execFile)('bash', ['-c', `${exports.join('\n')}\nenv -0`], {
    env: {PATH: process.env.PATH ?? '', LANG: 'C.UTF-8'},
  });
  const env = Object.fromEntries(
    stdout.split('\0').flatMap((line) => {
      const [, name, value] = /^((?:FIELDMIRROR|DATABASE|REDIS)_\w+)=(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, value]];
    }),
  );
  expect(Object.keys(env)).toHaveLength(exports.length);
  expect(() => loadConfig(env)).not.toThrow();
}

/** A block that this test does not run may only print figures, which stand for themselves. */
function checkLoose({heading}: Block): void {
  expect(heading).toBe('Speed');
}

test('every document with a block to try is in the list of docs/README.md', async () => {
  const listed = await readOrder();
  expect(listed.length).toBeGreaterThan(6);
  expect(blocks.filter(({place}) => !listed.includes(place.replace(/:.*/, '')))).toEqual([]);
});

test('a block of SQL without a role, or without a last semicolon, is rejected', () => {
  expect(() => readStatements({place: 'x', text: 'SELECT 1;'})).toThrow('expected "-- as ROLE"');
  expect(() => readStatements({place: 'x', text: '-- as erp\nSELECT 1'})).toThrow(
    'expected a semicolon',
  );
});

test('output belongs to the commands above it', () => {
  const text = '# Day\n```sh\nls\n```\n\nIt prints\n```\na\n```\n```\nb\n```\n';
  expect(findBlocks('x.md', text)).toEqual([
    {place: 'x.md:2, Day', heading: 'Day', language: 'sh', text: 'ls', shown: 'a'},
    {place: 'x.md:10, Day', heading: 'Day', language: '', text: 'b', shown: null},
  ]);
});
