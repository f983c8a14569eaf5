// The name by which a process reaches its warehouse. Beside what Postgres tells of itself, a
// physical copy differs in nothing but this name from the database that it was made of.

import {readFile, realpath} from 'node:fs/promises';
import {resolve} from 'node:path';

/** The settings that say where the warehouse is. */
export interface WarehouseAddress {
  readonly databaseUrl: string | null;
  readonly directUrl: string | null;
  /** Folder of the embedded Postgres. */
  readonly home: string;
}

const machineFile = '/etc/machine-id';
const ownMachine = /^(localhost|127\..*|\[::1\]|)$/;

/**
 * Host, port and database, without user and password. Every machine has its own `localhost` and its
 * own folders, so that such a name has the machine's id beside it where there is one.
 */
export async function namePlace({databaseUrl, directUrl, home}: WarehouseAddress): Promise<string> {
  const address = directUrl ?? databaseUrl;
  if (address === null)
    return `${await realpath(home).catch(() => resolve(home))}${await nameMachine()}`;
  const {hostname, port, pathname, searchParams} = new URL(address);
  const socket = searchParams.get('host') ?? '';
  const place = `${hostname === '' ? socket : hostname}:${port === '' ? 5432 : port}${pathname}`;
  return ownMachine.test(hostname) ? `${place}${await nameMachine()}` : place;
}

/**
 * Containers have no id, and their host names are made up anew: there the address alone is the
 * name.
 */
async function nameMachine(): Promise<string> {
  const id = await readFile(machineFile, 'utf8').catch(() => '');
  return id.trim() === '' ? '' : ` on machine ${id.trim().slice(0, 8)}`;
}
