// A person at a terminal: each question is answered once it is seen. `script` makes the terminal.

import {spawn} from 'node:child_process';
import {once} from 'node:events';

/** What a person sees, and the keys that are pressed then. */
export type Answer = readonly [seen: RegExp, keys: string];

export const enter = '\r';
export const ctrlC = '\u0003';

interface Typed {
  readonly code: number;
  /** All that the terminal printed. */
  readonly all: string;
  /** How many answers were never asked for. */
  readonly left: number;
}

/** @param env - the whole environment of the shell, beside PATH */
export async function typeAtTerminal(
  shell: string,
  answers: readonly Answer[],
  env: Readonly<Record<string, string>>,
): Promise<Typed> {
  const terminal = spawn('script', ['-qec', shell, '/dev/null'], {
    env: {PATH: process.env.PATH ?? '', SHELL: '/bin/sh', ...env},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting = [...answers];
  let seen = '';
  let all = '';
  terminal.stdout.on('data', (chunk: Buffer) => {
    seen += chunk;
    all += chunk;
    const [pattern, keys] = waiting[0] ?? [];
    const match = pattern?.exec(seen) ?? null;
    if (match === null) return;
    seen = seen.slice(match.index + match[0].length);
    waiting.shift();
    terminal.stdin.write(keys);
  });
  const [code] = await once(terminal, 'close');
  return {code, all, left: waiting.length};
}
