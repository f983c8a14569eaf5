// At a terminal no verb prints a line that is wider; a dumb terminal gets no commands.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {text} from 'node:stream/consumers';
import {stripVTControlCharacters} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {countColumns} from '../../src/core/text.ts';
import {programLine} from '../support/command.ts';
import {openVerbPlace, type VerbPlace, verbCases} from './verb-cases.ts';

/** What stays, another protocol, the program of somebody else, and documents: they are whole. */
const others = [
  'service',
  'rehearse',
  'http',
  'mcp',
  'psql',
  'push',
  'config export',
  'config schema',
];
const verbs = Object.entries(verbCases).filter(
  ([verb, {isFirst}]) => isFirst !== true && !others.includes(verb),
);
/** Those that print a table. */
const tables = [
  ...['status', 'ask', 'report', 'check', 'explain', 'match', 'feed', 'deliver', 'doctor'],
  ...verbs.map(([verb]) => verb).filter((verb) => verb.endsWith(' list')),
];

let place: VerbPlace;
let started: Map<string, string>;
beforeAll(async () => {
  place = await openVerbPlace();
  // The first start makes the account of the rows; a later one would send all its customers.
  started = await printAt(60, ['start']);
  await place.fill(40);
}, 300_000);
afterAll(async () => {
  await place?.close();
});

/**
 * What each verb prints at a terminal so many columns wide, `script` being the terminal.
 * @param env - of the terminal; it is a dumb one unless it says otherwise
 */
async function printAt(
  columns: number,
  names: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Map<string, string>> {
  const lines = names.map((name) => {
    const args = (verbCases[name]?.args ?? []).map((word) => (/^\d{4}$/.test(word) ? '40' : word));
    const line = programLine(...name.split(' '), ...args).map((word) => `'${word}'`);
    return `echo "@@ ${name}"; ${line.join(' ')} </dev/null`;
  });
  const terminal = spawn('script', ['-qec', 'exec sh -c "$LINES_OF_TEST"', '/dev/null'], {
    env: {
      ...place.env,
      PATH: process.env.PATH ?? '',
      FIELDMIRROR_ENV_FILE: '/dev/null',
      TERM: 'dumb',
      ...env,
      SHELL: '/bin/sh',
      LINES_OF_TEST: `stty cols ${columns}; ${lines.join('\n')}`,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [printed] = await Promise.all([text(terminal.stdout), once(terminal, 'close')]);
  const parts = printed.replaceAll('\r\n', '\n').split('@@ ').slice(1);
  return new Map(
    parts.map((part) => {
      const [name = '', ...rest] = part.split('\n');
      return [name, rest.join('\n')];
    }),
  );
}

/** A word that is as wide as the terminal, such as an address, stays whole. */
function isOneWord(line: string, columns: number): boolean {
  return line.split(' ').some((word) => countColumns(word) > columns - 24);
}

describe.each([
  [60, verbs.map(([verb]) => verb)],
  [80, tables],
  [120, tables],
])('at %i columns', (columns, names) => {
  let printed: Map<string, string>;
  beforeAll(async () => {
    printed = await printAt(columns, names);
  }, 300_000);

  test.each(names)('%s prints no line that is wider', (name) => {
    expectFit(printed.get(name), columns);
  });
});

test('the first start fits a terminal of 60 columns', () => {
  expectFit(started.get('start'), 60);
});

describe('colours', () => {
  const names = ['status', 'doctor', 'sweeps list'];
  const words = 'good|certified|failed|Nothing|Needs';
  const coloured = new RegExp(`\u001b\\[3[123]m(?:${words})`);

  test('show good and bad states at a terminal, and every line still fits', async () => {
    const printed = await printAt(80, names, {TERM: 'xterm-256color'});
    for (const name of names) {
      expect(printed.get(name), name).toMatch(coloured);
      expectFit(stripVTControlCharacters(printed.get(name) ?? ''), 80);
    }
  });

  test('NO_COLOR turns them off', async () => {
    const printed = await printAt(80, names, {TERM: 'xterm-256color', NO_COLOR: '1'});
    for (const name of names) expect(printed.get(name), name).not.toContain('\u001b[3');
  });
});

function expectFit(printed: string | undefined, columns: number): void {
  const lines = printed?.split('\n') ?? [];
  expect(lines.length).toBeGreaterThan(1);
  const tooWide = lines.filter((line) => countColumns(line) > columns);
  expect(tooWide.filter((line) => !isOneWord(line, columns))).toEqual([]);
  expect(printed).not.toContain('\u001b');
}
