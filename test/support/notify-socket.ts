// The other side of NOTIFY_SOCKET: a real socket of datagrams, on which a supervisor hears what it
// is told. Node has none; systemd-socket-activate opens it, and hands it to a reader as file 3.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {type Running, startProgram} from './command.ts';
import {isOnPath} from './server-process.ts';

export interface NotifySocket {
  readonly path: string;
  /** Resolves once a word of the given form was heard. */
  hears(pattern: RegExp): Promise<string>;
  /** What was told so far, one datagram a line. */
  close(): Promise<readonly string[]>;
}

const readsAll = `const all = Buffer.alloc(4096);
for (;;) {
  const read = require('node:fs').readSync(3, all);
  console.log('heard ' + all.subarray(0, read).toString().replaceAll('\\n', ' '));
}`;

export function isInstalled(): boolean {
  return ['systemd-notify', 'systemd-socket-activate'].every((program) => isOnPath(program));
}

export async function openNotifySocket(): Promise<NotifySocket> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-notify-'));
  const path = join(folder, 'socket');
  const activate = ['systemd-socket-activate', '--datagram', `--listen=${path}`];
  const reader: Running = startProgram([...activate, process.execPath, '-e', readsAll], {});
  await reader.prints(/Listening on/);
  return {
    path,
    hears: (pattern) => reader.prints(new RegExp(`heard .*${pattern.source}`)),
    close: async () => {
      reader.process.kill();
      const {stdout} = await reader.ended;
      await rm(folder, {recursive: true});
      // BARRIER is systemd-notify's own: it asks whether all was taken.
      return [...stdout.matchAll(/^heard (.*)$/gm)].flatMap(([, word = '']) =>
        word.startsWith('BARRIER') ? [] : word,
      );
    },
  };
}
