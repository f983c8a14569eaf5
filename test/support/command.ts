// Runs the command line as a user does: the built program, in a process of its own. All tests
// together build it first, for Node strips the types of the source at each start: that took a
// quarter of the time of such tests.

import {type ChildProcess, spawn} from 'node:child_process';
import {join} from 'node:path';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the match, as soon as the output so far has one. */
  prints(pattern: RegExp): Promise<string>;
}

/** Code that is compiled once spares each command 60 ms of CPU time. */
const compileCache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'compiled');

/** The built program, to be run by Node. */
export const main = join(import.meta.dirname, '..', '..', 'dist', 'main.js');

/** The command line of the program, as a user's shell has it. */
export function programLine(...args: string[]): string[] {
  return [process.execPath, main, ...args];
}

/** @param env - the whole environment of the command, beside PATH */
export function startCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  return startProgram(programLine(...args), env);
}

/** Starts any program in the same way. */
export function startProgram(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH ?? '',
      FIELDMIRROR_ENV_FILE: '/dev/null',
      NODE_COMPILE_CACHE: compileCache,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  const note = (add: (text: string) => void) => (chunk: Buffer) => {
    add(chunk.toString());
    for (const listener of listeners) listener();
  };
  child.stdout.on(
    'data',
    note((text) => (stdout += text)),
  );
  child.stderr.on(
    'data',
    note((text) => (stderr += text)),
  );
  const ended = new Promise<Ended>((done) =>
    child.on('close', (code) => done({code, stdout, stderr})),
  );
  const prints = (pattern: RegExp) =>
    new Promise<string>((done, failed) => {
      const look = () => {
        const found = pattern.exec(stdout + stderr);
        if (found === null) return;
        listeners.delete(look);
        done(found[0]);
      };
      listeners.add(look);
      void ended.then(() =>
        failed(new Error(`ended without printing ${pattern}: ${stdout}${stderr}`)),
      );
      look();
    });
  return {process: child, ended, prints};
}

export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  return await startCommand(args, env).ended;
}
