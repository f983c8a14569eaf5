import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import {hasEmbedded} from '../postgres/embedded.ts';
import {readHeld} from './postgres-held.ts';
import {withWarehouse} from './with-warehouse.ts';

/** @throws {FatalError} the made-up business is one of these accounts */
export function refuseMadeUp(names: readonly string[]): void {
  if (!names.includes(demoName)) return;
  throw new FatalError(
    'init: expected a warehouse without the made-up business, which would stay beside yours, got one with it; fieldmirror reset removes it; or set FIELDMIRROR_HOME to another folder, or DATABASE_URL to a Postgres of yours',
  );
}

/**
 * Looks into the embedded Postgres where it is going to be the warehouse, before a person has
 * answered all questions for nothing.
 * @throws {FatalError} it has the made-up business
 */
export async function refuseMadeUpHome(config: Config, embedded: boolean): Promise<void> {
  if ((config.databaseUrl !== null && !embedded) || !hasEmbedded(config.home)) return;
  const here = {...config, databaseUrl: null, directUrl: null};
  const {accounts} = await withWarehouse(
    here,
    {migrates: false},
    async ({pool}) => await readHeld(pool),
  );
  refuseMadeUp(accounts);
}
