// The warehouse of an account that answers: tried, migrated, and given the account.

import {listAccounts, placeOf, upsertAccount} from '../accounts/accounts.ts';
import {listSealingKeys} from '../accounts/seals.ts';
import type {Config} from '../core/config.ts';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {applySettings} from '../settings/apply-settings.ts';
import {allStreams} from '../streams/all.ts';
import {beginAccount} from '../sweeps/schedules.ts';
import {environmentOf} from './config-environment.ts';
import type {Asker} from './init-asker.ts';
import type {FoundAccount} from './init-find-account.ts';
import {refuseMadeUp} from './init-refuse-made-up.ts';
import {readSettingsFile} from './read-config-file.ts';
import {withWarehouse} from './with-warehouse.ts';
import {writeInForce} from './write-config-in-force.ts';

/** The file of settings, which stands where `config apply` looks for it. */
export const settingsFile = 'fieldmirror.yaml';

/** The warehouse of the account. */
export interface Kept {
  /** Null: the embedded Postgres. */
  readonly databaseUrl: string | null;
  readonly directUrl: string | null;
  readonly place: string;
  /** The keys with which something in it is sealed already, by their fingerprints. */
  readonly sealedWith: readonly string[];
}

type Account = FoundAccount & {readonly timeZone: string};

/** @throws the errors of `init` */
export async function keepAccount(
  asker: Asker | null,
  config: Config,
  {account, embedded}: {readonly account: Account; readonly embedded: boolean},
): Promise<Kept> {
  const {directUrl} = config;
  if (embedded || config.databaseUrl !== null || asker === null) {
    const databaseUrl = embedded ? null : config.databaseUrl;
    return await keep({...config, databaseUrl, directUrl: embedded ? null : directUrl}, account);
  }
  const question = `The warehouse: postgres://user:password@host/database (it is not shown), or nothing for a Postgres of its own in ${config.home}`;
  const take = async (answer: string) => {
    const databaseUrl = answer === '' ? null : checkDatabase(answer);
    try {
      return await keep({...config, databaseUrl, directUrl: null}, account);
    } catch (error) {
      const mayBeMended = error instanceof FatalError || error instanceof RetryableError;
      // The one of its own has no other address that could be typed.
      if (databaseUrl === null || !mayBeMended) throw error;
      throw new UsageError(error.message, {cause: error});
    }
  };
  return await asker.ask(question, '', take, {isHidden: true});
}

function checkDatabase(address: string): string {
  if (URL.canParse(address) && /^postgres(ql)?:\/\//.test(address)) return address;
  throw new UsageError(
    'init: expected an address that begins with postgres://, got something else',
  );
}

async function keep(config: Config, account: Account): Promise<Kept> {
  const {apiUrl, token, timeZone, name} = account;
  return await withWarehouse(config, {migrates: true}, async (warehouse) => {
    const {pool, place} = warehouse;
    await refuseOthers(pool, account);
    await inTransaction(pool, async (client) => {
      const held = await upsertAccount(client, {name, apiUrl, timeZone});
      await beginAccount(
        client,
        held,
        allStreams.map((stream) => stream.name),
      );
    });
    await writeInForce(pool, settingsFile);
    const {patch, refuse} = await readSettingsFile(settingsFile);
    const environment = environmentOf({account: {apiUrl, token}, timeZone});
    refuse((await applySettings(pool, {patch, file: settingsFile}, environment)).problems);
    const sealedWith = await listSealingKeys(pool);
    return {databaseUrl: config.databaseUrl, directUrl: config.directUrl, place, sealedWith};
  });
}

/**
 * @throws {FatalError} the warehouse has the made-up business, or this account under another name
 */
async function refuseOthers(db: Queryable, {name, apiUrl}: Account): Promise<void> {
  const held = await listAccounts(db);
  refuseMadeUp(held.map((each) => each.name));
  const twin = held.find((each) => placeOf(each.apiUrl) === placeOf(apiUrl) && each.name !== name);
  if (twin !== undefined)
    throw new FatalError(
      `init: ${placeOf(apiUrl)} is mirrored there already, as account ${twin.name}; give --name ${twin.name}`,
    );
}
