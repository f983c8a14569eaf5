// Writes a file of a person under another name until it is complete. A symbolic link is followed. A
// pipe or a device is not replaced: it is written to.

import {readlink, realpath, rename, rm, stat} from 'node:fs/promises';
import {dirname, resolve} from 'node:path';

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
    const result = await write(partFile);
    await rename(partFile, target);
    return result;
  } catch (error) {
    await rm(partFile, {force: true}).catch(() => undefined);
    throw error;
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
