// The verb `open`: a link that signs in to the console. It is for whoever can reach the database,
// as this command does.

import {makeSignInCode} from '../accounts/access.ts';
import type {Role} from '../accounts/roles.ts';
import {listWorkers} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {callOf} from './next-steps.ts';
import {linkOf} from './open-server.ts';
import {print} from './report.ts';
import {type Warehouse, withWarehouse} from './with-warehouse.ts';

export interface OpenOptions {
  readonly role: Role;
  /** Where the console is; found out when it is left out. */
  readonly at?: string;
  readonly json: boolean;
}

/**
 * Prints a link that signs in once, within ten minutes. @throws {UsageError} no console is known
 */
export async function open(config: Config, {role, at, json}: OpenOptions): Promise<number> {
  return await withWarehouse(config, {migrates: true}, async (warehouse) => {
    const url = (at ?? config.consoleUrl?.href ?? (await findConsole(warehouse))).replace(
      /\/$/,
      '',
    );
    const link = linkOf(url, await makeSignInCode(warehouse.pool, role));
    print(json, {
      json: {link},
      text: `${link}\n\nIt signs in once, as ${role}, within ten minutes.`,
    });
    return 0;
  });
}

/** The console of a start that is alive. */
async function findConsole({pool}: Warehouse): Promise<string> {
  const workers = await listWorkers(pool);
  const url = workers.find(({isAlive, consoleUrl}) => isAlive && consoleUrl !== null)?.consoleUrl;
  if (url !== null && url !== undefined) return url;
  throw new UsageError(
    `open: no start with a console is alive: begin one with ${callOf('start')}, or say where the console is with --at http://127.0.0.1:8086`,
  );
}
