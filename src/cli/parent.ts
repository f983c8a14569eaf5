// A signal to npm is meant for the program that npm runs, but npm cannot pass a SIGKILL on: `start`
// and `http` would go on as orphans, and keep their ports. So a process that npm runs ends with its
// npm. Any other process lives on when its parent ends: it was put into the background on purpose
// (nohup, setsid, a supervisor). Standard input tells nothing here: cron closes it at once.

import {readFileSync} from 'node:fs';

/**
 * A process and its parent, as they were at the start; after the parent's end another one takes its
 * place.
 */
export interface Link {
  readonly pid: number;
  readonly parentPid: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const lookEveryMs = 1_000;
const shells = new Set(['sh', 'ash', 'dash', 'bash', 'zsh']);
const detaching = /\b(nohup|setsid|daemonize|systemd-run)\b|&\s*$/;

/** Calls back once when the npm that runs this process has ended; never where no npm runs it. */
export function watchParent(env: Environment, onEnd: () => void): void {
  if (!isRunByNpm(env)) return;
  const links = linksToNpm();
  const timer = setInterval(() => {
    if (links.every(({pid, parentPid}) => parentOf(pid) === parentPid)) return;
    clearInterval(timer);
    onEnd();
  }, lookEveryMs);
  timer.unref();
}

/**
 * Whether npm (or pnpm, yarn) runs a script that is this program, and not one that leaves it behind
 * on purpose.
 */
export function isRunByNpm({
  npm_lifecycle_event: event,
  npm_lifecycle_script: script = '',
}: Environment): boolean {
  return event !== undefined && /fieldmirror|main\.ts/.test(script) && !detaching.test(script);
}

/**
 * npm runs a script in a shell. Some shells stay between npm and us, others give us their place.
 */
function linksToNpm(): Link[] {
  const own = {pid: process.pid, parentPid: process.ppid};
  const above = shells.has(nameOf(own.parentPid)) ? parentOf(own.parentPid) : null;
  return above === null ? [own] : [own, {pid: own.parentPid, parentPid: above}];
}

/** Null where it cannot be told. */
function parentOf(pid: number): number | null {
  if (pid === process.pid) return process.ppid;
  // "9182 (sh) S 9171 …": the name may hold blanks and brackets.
  const parent = readProcess(pid, 'stat')?.replace(/^.*\) \S /s, '');
  return parent === undefined ? null : Number.parseInt(parent, 10);
}

function nameOf(pid: number): string {
  return readProcess(pid, 'comm')?.trim() ?? '';
}

/**
 * Linux alone has these files. Elsewhere `sh` gives its place to the program, and our own parent is
 * npm.
 */
function readProcess(pid: number, file: 'stat' | 'comm'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
