// A process is taken for gone only when it certainly is: real processes, killed and stopped.

import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {connect} from 'node:net';
import {afterEach, expect, test} from 'vitest';
import {hasHolderEnded, markThisProcess} from '../../src/core/lease.ts';

const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

const forEver = 'setInterval(() => {}, 60_000);';

/** A process that has a mark. @param then - what it does afterwards */
async function startHolder(then = forEver): Promise<{readonly child: ChildProcess; mark: string}> {
  const source = new URL('../../src/core/lease.ts', import.meta.url).href;
  const code = `import {hasHolderEnded, markThisProcess} from ${JSON.stringify(source)};
    process.stdout.write(String(await markThisProcess()) + '\\n');
    ${then}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const [line] = await once(child.stdout, 'data');
  return {child, mark: String(line).trim()};
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

const addressOf = (mark: string) => `\0fieldmirror-${mark.split('.')[1]}`;

/** Connections that a stopped process does not take, more than the kernel keeps for it. */
async function crowd(mark: string) {
  const sockets = Array.from({length: 700}, () => connect(addressOf(mark)));
  const codes = await Promise.all(
    sockets.map(
      (socket) =>
        new Promise((told) => {
          socket.once('connect', () => told('connected'));
          socket.once('error', (error) => told('code' in error ? error.code : error));
        }),
    ),
  );
  return {codes: new Set(codes), close: () => sockets.map((socket) => socket.destroy())};
}

test('a killed process counts as dead, and a living one does not', async () => {
  const [killed, living] = await Promise.all([startHolder(), startHolder()]);
  expect(await Promise.all([killed, living].map(({mark}) => hasHolderEnded(mark)))).toEqual([
    false,
    false,
  ]);
  await kill(killed.child);
  expect(await Promise.all([killed, living].map(({mark}) => hasHolderEnded(mark)))).toEqual([
    true,
    false,
  ]);
  expect(await hasHolderEnded((await markThisProcess()) ?? '')).toBe(false);
});

test('a stopped process does not count as dead, even with 700 connections to it', async () => {
  const {child, mark} = await startHolder();
  child.kill('SIGSTOP');
  expect(await hasHolderEnded(mark)).toBe(false);
  const {codes, close} = await crowd(mark);
  expect(codes).toEqual(new Set(['connected', 'EAGAIN']));
  expect(await hasHolderEnded(mark)).toBe(false);
  close();
  child.kill('SIGCONT');
  expect(await hasHolderEnded(mark)).toBe(false);
  await kill(child);
  expect(await hasHolderEnded(mark)).toBe(true);
});

test('a process in an endless loop does not count as dead', async () => {
  const {mark} = await startHolder('for (;;);');
  expect(await hasHolderEnded(mark)).toBe(false);
});

test('neither a mark nor a check of a mark keeps a process alive', async () => {
  const {child} = await startHolder(`
    const isGone = await hasHolderEnded(await markThisProcess());
    process.exitCode = isGone ? 1 : 0;`);
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('a mark of another kernel or namespace, or malformed, never counts as dead', async () => {
  const {child, mark} = await startHolder();
  await kill(child);
  expect(await hasHolderEnded(mark)).toBe(true);
  const [place = '', name = ''] = mark.split('.');
  const other = `${place[0] === 'A' ? 'B' : 'A'}${place.slice(1)}`;
  for (const foreign of [`${other}.${name}`, `.${name}`, name, place, ''])
    expect(await hasHolderEnded(foreign)).toBe(false);
});
