// Writes files of a person under other names until they are complete. A symbolic link is followed.
// A pipe or a device is not replaced: it is written to.

import {lstat, open, readlink, realpath, rename, rm, stat} from 'node:fs/promises';
import {basename, dirname, join, resolve} from 'node:path';
import {UsageError} from '../core/errors.ts';

/**
 * Lets `write` write a file: if it fails, no part of the file remains, and the previous file is
 * unchanged.
 * @param write - is called with the path to write to
 */
export async function writeAside<T>(file: string, write: (path: string) => Promise<T>): Promise<T> {
  if (await isPipeOrDevice(file)) return await write(file);
  const target = await followLinks(file);
  const partFile = `${target}.part`;
  try {
    await createLike(target, partFile);
    const result = await write(partFile);
    await rename(partFile, target);
    return result;
  } catch (error) {
    await rm(partFile, {force: true}).catch(() => undefined);
    throw error;
  }
}

/**
 * Lets `write` write several files: until all are complete, none is replaced.
 * @param temporaryFolder - an empty folder on the disk of the files
 * @param write - is called with the paths to write to, in the order of the files
 * @throws {UsageError} a folder has the name of a file
 */
export async function writeAllAside(
  files: readonly string[],
  temporaryFolder: string,
  write: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  const places = await Promise.all(files.map((file) => findPlace(file, temporaryFolder)));
  const parts = places.filter(({path, target}) => path !== target);
  try {
    for (const {path, target} of parts) await createLike(target, path);
    await write(places.map(({path}) => path));
    for (const {path, target} of parts) await rename(path, target);
  } catch (error) {
    for (const {path} of parts) await rm(path, {force: true}).catch(() => undefined);
    throw error;
  }
}

/** A file is written to `path`, and then moved to `target` unless that is the same. */
interface Place {
  readonly path: string;
  readonly target: string;
}

/** The file behind a link may be on another disk, so it is written beside its target. */
async function findPlace(file: string, temporaryFolder: string): Promise<Place> {
  await refuseFolderAt(file);
  if (await isPipeOrDevice(file)) return {path: file, target: file};
  const name = basename(file);
  const found = await lstat(file).catch(() => null);
  if (found?.isSymbolicLink() !== true) return {path: join(temporaryFolder, name), target: file};
  const target = await followLinks(file);
  return {path: join(dirname(target), `${basename(temporaryFolder)}-${name}`), target};
}

/**
 * Refuses to write where a folder is: no file can replace it.
 * @throws {UsageError} a folder is there
 */
export async function refuseFolderAt(file: string): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (found?.isDirectory() !== true) return;
  throw new UsageError(`${file}: expected a file or nothing there, got a folder`);
}

/**
 * Creates an empty file with the permissions of the one that it will replace: a report that only
 * its owner may read stays so. What else had its name, such as a link of another user, is removed.
 */
async function createLike(target: string, partFile: string): Promise<void> {
  const replaced = await stat(target).catch(() => null);
  await rm(partFile, {force: true});
  const created = await open(partFile, 'wx').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw error;
    // The write that follows reports the reason, such as a missing folder.
    return null;
  });
  if (created === null) return;
  try {
    if (replaced !== null) await created.chmod(replaced.mode & 0o777);
  } finally {
    await created.close();
  }
}

/** Whether a file is there that would be replaced. */
export async function isReplaced(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  return found !== null && !(await isPipeOrDevice(file));
}

/** `/dev/stdout` may be a regular file, which the shell has opened: it must not be replaced. */
async function isPipeOrDevice(file: string): Promise<boolean> {
  if (/^\/(dev\/(stdout|stderr|fd\/)|proc\/)/.test(resolve(file))) return true;
  const found = await stat(file).catch(() => null);
  return found !== null && !found.isFile() && !found.isDirectory();
}

/** As many links as Linux follows. */
const mostLinks = 40;

/** The file that is behind a symbolic link, also if it does not exist yet. */
async function followLinks(file: string): Promise<string> {
  let path = file;
  for (let followed = 0; followed < mostLinks; followed++) {
    const target = await realpath(path).catch(() => null);
    if (target !== null) return target;
    const link = await readlink(path).catch(() => null);
    if (link === null) return path;
    path = resolve(dirname(path), link);
  }
  return file;
}
