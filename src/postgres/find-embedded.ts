import {existsSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {readPrivateFile} from '../core/private-file.ts';
import {addressOf, findRefusal, readPort} from './embedded-server.ts';

/** The name of the database that is the warehouse. */
const warehouse = 'warehouse';

/**
 * The address of an embedded Postgres that runs and lets us in; nothing is started.
 * @param home - the folder of all local state
 * @returns null where none runs
 */
export async function findEmbedded(home: string): Promise<string | null> {
  const dataFolder = join(resolve(home), 'postgres');
  const passwordFile = `${dataFolder}.password`;
  const port = await readPort(dataFolder);
  if (port === null || !existsSync(passwordFile)) return null;
  const server = {port, password: readPrivateFile(passwordFile)};
  return (await findRefusal(server)) === null ? addressOf(server, warehouse) : null;
}
