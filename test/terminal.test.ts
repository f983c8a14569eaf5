// No foreign text can bring a command, or a mark that turns a line round, to a terminal.

import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {PassThrough} from 'node:stream';
import {expect, test} from 'vitest';
import {formatBars} from '../src/cli/progress.ts';
import {createLogger} from '../src/core/log.ts';
import {toPrintable} from '../src/core/text.ts';
import {commandsOfTerminal} from './support/commands-of-terminal.ts';

const root = join(import.meta.dirname, '..');
const all = Array.from({length: 0x3000}, (_, code) => String.fromCharCode(code)).join('');

test.each<[string, string]>([
  ['ESC', '\u001b'],
  ['a backspace', '\b'],
  ['a lone carriage return', '\r'],
  ['DEL', '\u007f'],
  ['a control of C1', '\u009b'],
  ['a new line of C1', '\u0085'],
  ['an override of direction', '\u202e'],
  ['an isolate', '\u2066'],
  ['a mark of direction', '\u200f'],
  ['the Arabic one', '\u061c'],
  ['a line separator', '\u2028'],
  ['a paragraph separator', '\u2029'],
])('%s is printed as its Unicode number', (_, character) => {
  const number = character.charCodeAt(0).toString(16).padStart(4, '0');
  expect(toPrintable(`a${character}b`)).toBe(`a\\u${number}b`);
});

test('other text is printed unchanged', () => {
  const text = 'Söhne & Co. 株式会社 שלום 👩‍🔧 \t\n│─┐ “x”';
  expect(toPrintable(text)).toBe(text);
  expect(toPrintable('one\r\ntwo')).toBe('one\ntwo');
  expect(toPrintable(all)).not.toMatch(commandsOfTerminal);
});

test('escaped JSON parses to the same value', () => {
  const json = JSON.stringify({[all]: all}, null, 2);
  const printed = toPrintable(json);
  expect(printed).not.toMatch(commandsOfTerminal);
  expect(JSON.parse(printed)).toEqual({[all]: all});
});

test('only src/core/text.ts writes to stdout and stderr', () => {
  const files = ['src', 'jobs'].flatMap((folder) =>
    readdirSync(join(root, folder), {recursive: true, encoding: 'utf8'}).map((name) =>
      join(folder, name),
    ),
  );
  const writers = files
    .filter((name) => name.endsWith('.ts'))
    .filter((name) =>
      /(?:stdout|stderr)\.write\(|console\.\w+\(/.test(readFileSync(join(root, name), 'utf8')),
    );
  expect(writers).toEqual([join('src', 'core', 'text.ts')]);
});

test.each([false, true])('the log escapes control characters, pretty: %s', async (isPretty) => {
  const lines: string[] = [];
  const log = createLogger({
    level: 'info',
    secrets: [],
    isPretty,
    destination: {write: (line) => lines.push(line)},
  });
  log.warn({reason: all}, `refused: ${all}`);
  const [line = ''] = lines;
  expect(line).not.toMatch(commandsOfTerminal);
  const read = JSON.parse(line);
  // A pretty printer of JSON prints the texts in it as they are.
  if (isPretty)
    expect(read).toMatchObject({reason: toPrintable(all), msg: `refused: ${toPrintable(all)}`});
  else expect(read).toMatchObject({reason: all, msg: `refused: ${all}`});
});

test('progress bars escape control characters', () => {
  // On a stream that is no terminal no bars are drawn at all.
  const terminal = Object.assign(new PassThrough(), {isTTY: true, columns: 120});
  const progress = formatBars(terminal);
  progress.begin('jobs', 0);
  progress.end('jobs', `jobs failed: \u009b31m \u202e`);
  progress.close();
  const drawn = String(terminal.read() ?? '');
  expect(drawn).toContain('jobs failed: \\u009b31m \\u202e');
  expect(drawn).not.toMatch(/[\u009b\u202e]/);
});
