import type pg from 'pg';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {findConcerns} from '../alerts/concerns.ts';
import {findEveryConcern, readInstallation} from '../alerts/every-concern.ts';
import {findHeldUp} from '../alerts/held-up-concerns.ts';
import type {Config} from '../core/config.ts';
import {causeNumbers, FatalError} from '../core/errors.ts';
import {readAccountFacts, readAccounts} from '../health/account-status.ts';
import {readUnderWay} from '../health/under-way-words.ts';
import {readNow} from '../postgres/checks.ts';
import {listHeldUp} from '../postgres/lock-waits.ts';
import {readRetention} from '../retention/retention.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {chooseAccount} from './choose-account.ts';
import {drawStatus, type ShownAccount} from './draw-status.ts';
import {toLooker} from './looker.ts';
import {print} from './report.ts';
import {UnlockedReader} from './unread.ts';
import {briefLockTimeoutMs, type Warehouse, withWarehouse} from './with-warehouse.ts';

export interface StatusOptions {
  /** Name of the only account to look at. */
  readonly account?: string;
  readonly json: boolean;
}

/**
 * Health at a glance, from the rows alone: nothing is asked of the service or the queue.
 * @returns the exit code: 1 when anything needs a person, as the words say
 * @throws {UsageError} there is no account of that name
 */
export async function status(config: Config, options: StatusOptions): Promise<number> {
  const opening = {migrates: false, lockTimeoutMs: briefLockTimeoutMs};
  return await withWarehouse(config, opening, async (warehouse) => {
    const {place} = warehouse;
    const story = await readStatusStory(warehouse, config, options.account);
    const numbered = story.concerns.map((concern) => ({
      ...concern,
      docs: causeNumbers[concern.kind],
    }));
    print(options.json, {
      json: {warehouse: place, ...story, concerns: numbered},
      text: drawStatus(story.accounts, {place, ...story}),
    });
    return story.concerns.length + story.unread.length > 0 ? 1 : 0;
  });
}

/**
 * Reads all that `status` tells. What somebody else has locked is left out.
 * @param name - of the only account
 */
export async function readStatusStory(warehouse: Warehouse, config: Config, name?: string) {
  const {pool, place, databaseUrl} = warehouse;
  const reader = new UnlockedReader(databaseUrl);
  const migrations = await reader.read('the migrations', () => checkMigrations(pool));
  const problem = migrations?.problem ?? null;
  if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
  const chosen = await reader.read('the accounts', async () =>
    name === undefined ? await listAccounts(pool) : [await chooseAccount(warehouse, name)],
  );
  const accounts = chosen === null ? null : await readUnlockedAccounts(reader, pool, chosen);
  const underWay = await reader.read('the work under way', () => readUnderWay(pool, chosen ?? []));
  const installation = await reader.read('the workers, the star, alerts and subscribers', () =>
    readInstallation(pool, toLooker(config)),
  );
  const retention = await reader.read('what is kept', () => readRetention(pool));
  const now = await readNow(pool);
  const shown = accounts ?? [];
  return {
    ...{
      now,
      accounts: shown,
      workers: installation?.workers ?? null,
      underWay: underWay ?? [],
      retention,
    },
    concerns:
      installation === null
        ? [...findHeldUp(await listHeldUp(pool), now), ...findConcerns(shown, now)]
        : findEveryConcern(shown, installation, now),
    unread: reader.unread,
  };
}

/** Where a table of rows is locked, its rows alone are not counted. */
async function readUnlockedAccounts(
  reader: UnlockedReader,
  pool: pg.Pool,
  accounts: readonly Account[],
): Promise<readonly ShownAccount[] | null> {
  const whole = await reader.read('the number of rows', () => readAccounts(pool, accounts));
  if (whole !== null) return whole.accounts;
  const facts = await reader.read('how the accounts stand', () => readAccountFacts(pool, accounts));
  return facts?.accounts.map((account) => ({...account, changes: null})) ?? null;
}
