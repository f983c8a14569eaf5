import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {rename, rm} from 'node:fs/promises';
import {join, resolve} from 'node:path';
import {FatalError} from '../core/errors.ts';
import {readPort} from './embedded-server.ts';

/** Whether a folder of local state has an embedded Postgres. */
export function hasEmbedded(home: string): boolean {
  return existsSync(join(resolve(home), 'postgres'));
}

/**
 * Removes the data folder of an embedded Postgres and its password; other files of the folder stay.
 * @throws {FatalError} its server runs
 */
export async function removeEmbedded(home: string): Promise<void> {
  const dataFolder = join(resolve(home), 'postgres');
  const port = await readPort(dataFolder);
  if (port !== null)
    throw new FatalError(
      `reset: expected the embedded Postgres in ${dataFolder} to rest, but another process has begun to use it; nothing was removed: stop what runs, and reset again`,
      {kind: 'in-use'},
    );
  // Moved aside in one step: a reset that is killed leaves no half data folder, and the next initdb
  // removes what it left.
  const aside = `${dataFolder}-new-gone-${randomBytes(3).toString('hex')}`;
  await rename(dataFolder, aside);
  await rm(`${dataFolder}.password`, {force: true});
  await rm(aside, {recursive: true, force: true});
}
