// Runs the command line with its output in a pipe, as a shell does, before a slow reader.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import type {Readable} from 'node:stream';
import {text} from 'node:stream/consumers';
import {type Ended, programLine} from './command.ts';

/** A few bytes at a time: any command is done long before its reader, and the pipe is full. */
const slowly = '| dd bs=512 status=none 3>&-';

export interface Pipe {
  /** The target to which the shell sends the output. */
  readonly into?: string;
  /** The command is told to stop when the reader has passed this on. */
  readonly stopsAt?: string;
}

/** @returns how the command ended, not its reader, and the text that the reader passed on */
export async function runIntoPipe(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  {into = slowly, stopsAt}: Pipe = {},
): Promise<Ended> {
  const line = `{ echo $BASHPID >&3; exec "$@" 3>&-; } ${into}; exit \${PIPESTATUS[0]}`;
  const shell = spawn('bash', ['-c', line, 'bash', ...programLine(...args)], {
    env: {PATH: process.env.PATH ?? '', FIELDMIRROR_ENV_FILE: '/dev/null', ...env},
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const [stdout, stderr, told] = shell.stdio.slice(1) as Readable[] as [
    Readable,
    Readable,
    Readable,
  ];
  const ended = once(shell, 'close');
  const pid = once(told, 'data').then(([line]) => Number(line));
  if (stopsAt !== undefined) {
    const stop = async (chunk: Buffer) =>
      chunk.includes(stopsAt) && process.kill(await pid, 'SIGTERM');
    stdout.on('data', (chunk: Buffer) => void stop(chunk));
  }
  const [out, error, [code]] = await Promise.all([text(stdout), text(stderr), ended]);
  return {code, stdout: out, stderr: error};
}
