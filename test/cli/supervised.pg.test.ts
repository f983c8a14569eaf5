// start under a supervisor that waits to be told, as systemd does for Type=notify.

import {spawnSync} from 'node:child_process';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {takeSupervisor} from '../../src/cli/process.ts';
import {startCommand} from '../support/command.ts';
import {isInstalled, openNotifySocket} from '../support/notify-socket.ts';
import {openPlace, type Place} from '../support/place.ts';
import {isOnPath} from '../support/server-process.ts';

const unit = join(import.meta.dirname, '..', '..', 'ops', 'fieldmirror.service');
let place: Place;
let folder: string;
beforeEach(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-supervised-'));
});
afterEach(async () => {
  await place?.close();
  await rm(folder, {recursive: true});
});

test.skipIf(!isInstalled())(
  'start notifies its supervisor when /readyz returns 200, while it runs and when it stops',
  async () => {
    const socket = await openNotifySocket();
    const env = {...place.env, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '1500000'};
    const running = startCommand(['start', '--json', '--port', '0'], env);
    const address = /"console": ?"([^"]+)"/;
    const [, url] = address.exec(await running.prints(address)) ?? [];
    await Promise.race([socket.hears(/READY=1/), running.ended]);
    const {status} = await fetch(`${url}/readyz`);
    expect(status).toBe(200);
    await socket.hears(/WATCHDOG=1/);
    running.process.kill('SIGTERM');
    await socket.hears(/STOPPING=1/);
    expect(await running.ended).toMatchObject({code: 0, stderr: ''});
    const heard = await socket.close();
    expect(heard[0]).toBe('READY=1 STATUS=Running');
    expect(heard.at(-1)).toBe('STOPPING=1 STATUS=Stopping');
    expect(new Set(heard.slice(1, -1))).toEqual(new Set(['WATCHDOG=1']));
  },
);

test('without systemd-notify, start continues and logs what is missing', async () => {
  const env = {...place.env, NOTIFY_SOCKET: join(folder, 'socket'), PATH: folder};
  const running = startCommand(['start', '--json', '--port', '0'], env);
  await running.prints(/supervisor\.not_notified/);
  running.process.kill('SIGTERM');
  const {code, stderr} = await running.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('put systemd-notify on the PATH and NotifyAccess=all in the unit');
});

test('the notify address is removed from the environment; a foreign watchdog is ignored', () => {
  const env: NodeJS.ProcessEnv = {
    NOTIFY_SOCKET: '/run/notify',
    WATCHDOG_USEC: '120000000',
    WATCHDOG_PID: String(process.pid),
    HOME: '/',
  };
  expect(takeSupervisor({...env, WATCHDOG_PID: '1'})).toEqual({
    socket: '/run/notify',
    patienceMs: null,
  });
  expect(takeSupervisor(env)).toEqual({socket: '/run/notify', patienceMs: 120_000});
  expect(env).toEqual({HOME: '/'});
  expect(takeSupervisor(env)).toBeNull();
});

test.skipIf(!isOnPath('systemd-analyze'))('systemd accepts the unit without warnings', async () => {
  const text = await readFile(unit, 'utf8');
  const path = join(folder, 'fieldmirror.service');
  // The program is not installed here.
  await writeFile(path, text.replace('/usr/local/bin/fieldmirror', process.execPath));
  expect(analyze('verify', path)).toEqual({status: 0, said: ''});
  const {status, said} = analyze(
    'security',
    '--offline=true',
    '--threshold=25',
    '--no-pager',
    path,
  );
  expect(said).toMatch(/exposure level for fieldmirror\.service: [\d.]+ OK/);
  expect(status).toBe(0);
});

function analyze(...args: string[]): {readonly status: number | null; readonly said: string} {
  const {status, stdout, stderr} = spawnSync('systemd-analyze', args, {encoding: 'utf8'});
  return {status, said: `${stdout}${stderr}`};
}
