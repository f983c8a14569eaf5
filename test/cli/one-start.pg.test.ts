// A folder of local state has one `start`; and Ctrl-C is heard at once, also while the first start
// is still being set up.

import {existsSync} from 'node:fs';
import {mkdir, mkdtemp, readFile, rm} from 'node:fs/promises';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {takeStartLock} from '../../src/cli/process.ts';
import {type Running, runCommand, startCommand} from '../support/command.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';

let folder: string;
const started: Running[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(temporaryFolder(), 'one-start-'));
});

afterEach(async () => {
  for (const running of started.splice(0)) {
    running.process.kill('SIGTERM');
    await running.ended;
  }
  await rm(folder, {recursive: true, force: true});
});

const home = () => join(folder, 'home');

function begin(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const running = startCommand(args, {
    FIELDMIRROR_HOME: home(),
    FIELDMIRROR_DEMO_NIGHTS: '1',
    ...env,
  });
  started.push(running);
  return running;
}

test('a second start in the same folder exits with 3 and names the first one', async () => {
  const first = begin(['start']);
  const said = await first.prints(/Running\. Ctrl-C[\s\S]*|Console: \S+/);
  const [url] = /http:\/\/[\w.:]+/.exec(said) ?? [];
  await first.prints(/Running\. Ctrl-C/);
  const second = await runCommand(['start'], {FIELDMIRROR_HOME: home()});
  expect(second).toMatchObject({code: 3, stdout: ''});
  expect(second.stderr).toMatch(
    new RegExp(
      `^start: already running in .*home: pid ${first.process.pid}; its console is at ${url}, ` +
        'and fieldmirror open prints.*\\nsee: fieldmirror explain E40',
    ),
  );
  // What does not stay is no second worker.
  expect(await runCommand(['sync', 'tasks'], {FIELDMIRROR_HOME: home()})).toMatchObject({code: 0});
  first.process.kill('SIGKILL');
  await first.ended;
  const third = begin(['start']);
  await third.prints(/Running\. Ctrl-C/);
  third.process.kill('SIGINT');
  expect(await third.ended).toMatchObject({code: 0});
  expect(existsSync(join(home(), 'start.sock'))).toBe(false);
}, 240_000);

describe('Ctrl-C while the first start is set up', () => {
  test.each([
    ['SIGINT', 130, /\nStopping\. Ctrl-C again ends at once\.\n/],
    ['SIGTERM', 0, /^/],
  ] as const)(
    'on %s, start exits with %i within seconds and leaves no Postgres running',
    async (signal, code, words) => {
      const first = begin(['start'], {FIELDMIRROR_DEMO_NIGHTS: '90'});
      await first.prints(/living through/);
      const stoppedAt = performance.now();
      first.process.kill(signal);
      if (signal === 'SIGINT') {
        await first.prints(/Stopping/);
        expect(performance.now() - stoppedAt).toBeLessThan(5_000);
      }
      const ended = await first.ended;
      expect(ended.code).toBe(code);
      expect(ended.stderr).toMatch(words);
      expect(performance.now() - stoppedAt).toBeLessThan(20_000);
      expect(existsSync(join(home(), 'postgres', 'postmaster.pid'))).toBe(false);
    },
    120_000,
  );

  test('a second Ctrl-C ends start at once', async () => {
    const first = begin(['start'], {FIELDMIRROR_DEMO_NIGHTS: '90'});
    await first.prints(/living through/);
    first.process.kill('SIGINT');
    await first.prints(/Stopping/);
    first.process.kill('SIGINT');
    expect(await first.ended).toMatchObject({code: 130});
    // The Postgres that was left behind is joined and stopped by the next command.
    await runCommand(['status'], {FIELDMIRROR_HOME: home()});
  }, 120_000);
});

describe('the start lock of a data folder', () => {
  test('is given once, and again after its release', async () => {
    const place = await takeStartLock(home());
    place.setConsole('http://127.0.0.1:8086');
    await expect(takeStartLock(home())).rejects.toThrow(
      `pid ${process.pid}; its console is at http://127.0.0.1:8086`,
    );
    await place.release();
    await (await takeStartLock(home())).release();
  });

  test('is given to one of several simultaneous starts, even with a leftover socket', async () => {
    await mkdir(home());
    await leaveSocket(join(home(), 'start.sock'));
    const results = await Promise.allSettled(Array.from({length: 8}, () => takeStartLock(home())));
    const places = results.flatMap((result) =>
      result.status === 'fulfilled' ? [result.value] : [],
    );
    expect(places).toHaveLength(1);
    for (const place of places) await place.release();
  });

  test('also works for a path that is too long for a socket', async () => {
    const long = join(home(), 'x'.repeat(120), 'y'.repeat(120));
    const place = await takeStartLock(long);
    if (process.platform === 'linux')
      await expect(takeStartLock(long)).rejects.toThrow('already running');
    await place.release();
  });

  test('is also held by a listener that does not answer', async () => {
    await mkdir(home());
    const silent = createServer(() => {});
    await new Promise<void>((done) => silent.listen(join(home(), 'start.sock'), done));
    await expect(takeStartLock(home())).rejects.toThrow('already running');
    silent.close();
  });
});

/** A socket file without a listener, as a killed process leaves it. */
async function leaveSocket(path: string): Promise<void> {
  const end = "() => process.kill(process.pid, 'SIGKILL')";
  const listen = `require('node:net').createServer().listen`;
  const script = `${listen}(${JSON.stringify(path)}, ${end})`;
  const {execFile} = await import('node:child_process');
  await new Promise((done) => execFile(process.execPath, ['-e', script], done));
  expect(existsSync(path)).toBe(true);
  await expect(readFile(path)).rejects.toThrow();
}
