// The data folder of the embedded Postgres and its password: made once, each put in place whole.

import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {link, mkdir, readdir, rename, rm, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {FatalError, UsageError} from '../core/errors.ts';
import {readPrivateFile} from '../core/private-file.ts';
import {explainStartFailure} from './embedded-errors.ts';
import type {ProgramRunner, Programs} from './embedded-process.ts';

export interface EmbeddedPlace {
  readonly folder: string;
  readonly dataFolder: string;
  readonly programs: Programs;
  readonly runner: ProgramRunner;
}

/** The only user of the embedded Postgres that is there from the start. */
export const owner = 'fieldmirror';
const abandonedAfterMs = 600_000;

/**
 * Reads the password of the data folder, and makes one where there is none yet. A password that was
 * lost while its data folder was kept is replaced: the files are ours, so we need not know the old
 * one.
 * @throws {UsageError} others may read the file
 * @throws {FatalError} it was lost, and a server that knows it still runs
 */
export async function readPassword(place: EmbeddedPlace): Promise<string> {
  const file = `${place.dataFolder}.password`;
  if (!existsSync(file)) await makePassword(place, file);
  try {
    return readPrivateFile(file);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`password of the embedded Postgres: ${reason}`, {cause});
  }
}

/**
 * Written aside and put in place whole: two processes that start at once read the same password.
 */
async function makePassword(place: EmbeddedPlace, file: string): Promise<void> {
  const aside = `${file}-new-${process.pid}-${randomBytes(3).toString('hex')}`;
  const password = randomBytes(18).toString('base64url');
  await writeFile(aside, password, {mode: 0o600});
  try {
    if (existsSync(place.dataFolder)) await replacePassword(place, password);
    await link(aside, file);
  } catch (cause) {
    // Another process was first; its password is as good.
    if (!existsSync(file)) throw cause;
  } finally {
    await rm(aside, {force: true});
  }
}

/** Postgres in single-user mode asks for no password, and refuses to run beside a server. */
async function replacePassword(
  {dataFolder, programs, runner}: EmbeddedPlace,
  password: string,
): Promise<void> {
  try {
    const statement = `ALTER ROLE ${owner} PASSWORD '${password}'\n`;
    await runner.run(programs.postgres, ['--single', '-D', dataFolder, 'postgres'], statement);
  } catch (cause) {
    if (!(cause instanceof FatalError)) throw cause;
    throw explainStartFailure({dataFolder, user: runner.user}, cause.message, cause);
  }
}

/**
 * Made aside and put in place by one rename: a process killed here, or two at once, leave no half
 * data folder.
 */
export async function initialise(place: EmbeddedPlace, password: string): Promise<void> {
  const aside = join(place.folder, `postgres-new-${process.pid}-${randomBytes(3).toString('hex')}`);
  await mkdir(join(aside, 'data'), {recursive: true, mode: 0o711});
  const passwordFile = join(aside, 'password');
  await writeFile(passwordFile, password, {mode: 0o600});
  await place.runner.own(passwordFile);
  await place.runner.own(join(aside, 'data'));
  await place.runner.run(place.programs.initdb, [
    `--pgdata=${join(aside, 'data')}`,
    `--username=${owner}`,
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--locale=C.UTF-8',
  ]);
  try {
    await rename(join(aside, 'data'), place.dataFolder);
  } catch (cause) {
    // Another process was first; its folder is as good.
    if (!existsSync(join(place.dataFolder, 'PG_VERSION'))) throw cause;
  }
  await rm(aside, {recursive: true, force: true});
  await removeAbandoned(place.folder);
}

/** Removes the leftovers of processes that were killed while they made the data folder aside. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('postgres-new-')) continue;
    const {mtimeMs} = await stat(join(folder, name));
    if (Date.now() - mtimeMs > abandonedAfterMs)
      await rm(join(folder, name), {recursive: true, force: true});
  }
}
