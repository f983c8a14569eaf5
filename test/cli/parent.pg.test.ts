// When npm is killed, its process ends with it; a process put into the background on purpose
// ignores npm.

import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {connect} from 'node:net';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {isRunByNpm} from '../../src/cli/stop.ts';
import {openPlace, type Place} from '../support/place.ts';

let place: Place;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
});

afterAll(() => place.close());

interface Shown {
  readonly process: ChildProcess;
  /** Resolves with the match as soon as it is printed. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /**
   * The moment when the last process that holds the output has ended: npm's shell and its children
   * too.
   */
  readonly ended: Promise<string>;
}

function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Shown {
  const child = spawn(command, args, {
    cwd: join(import.meta.dirname, '..', '..'),
    env: {PATH: process.env.PATH ?? '', ...place.env, ...env},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => (shown += chunk));
  const ended = text(child.stderr);
  const prints = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(shown);
      if (found !== null) return found;
      await Promise.race([
        once(child.stdout, 'data'),
        ended.then((said) => Promise.reject(new Error(said))),
      ]);
    }
  };
  return {process: child, prints, ended};
}

describe.each(['SIGKILL', 'SIGTERM'] as const)('%s to npm', (signal) => {
  test.each([
    ['start', [], /Running\. Ctrl-C/],
    ['http', ['--port', '0'], /http:\/\/127\.0\.0\.1:\d+/],
  ])('also ends %s', async (verb, args, words) => {
    const shown = run('npm', ['run', '-s', 'fieldmirror', '--', verb, ...args]);
    const [said] = await shown.prints(words);
    shown.process.kill(signal);
    await shown.ended;
    if (verb === 'http')
      await expect(reach(Number(new URL(said).port))).rejects.toThrow(/ECONNREFUSED/);
  });
});

async function reach(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
}

const cases: readonly (readonly [string, Readonly<Record<string, string>>, boolean])[] = [
  [
    'npm start',
    {npm_lifecycle_event: 'start', npm_lifecycle_script: 'node --x src/main.ts start'},
    true,
  ],
  [
    'a script of somebody',
    {npm_lifecycle_event: 'serve', npm_lifecycle_script: 'fieldmirror http'},
    true,
  ],
  ['no npm', {}, false],
  ['a deployment', {npm_lifecycle_event: 'deploy', npm_lifecycle_script: './deploy.sh'}, false],
  ...['nohup fieldmirror start', 'setsid fieldmirror start', 'fieldmirror start &'].map(
    (script) => [script, {npm_lifecycle_event: 'up', npm_lifecycle_script: script}, false] as const,
  ),
];

test.each(cases)('%s: Fieldmirror detects whether npm runs it and waits for it', (_, env, runs) => {
  expect(isRunByNpm(env)).toBe(runs);
});
