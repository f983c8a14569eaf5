import type {Config} from '../../base/config.ts';
import {FatalError} from '../../base/errors.ts';
import {readAccounts} from '../../views/account-status.ts';
import {findEveryConcern, readInstallation} from '../../views/concerns/every-concern.ts';
import {readUnderWay} from '../../views/work/under-way.ts';
import {listAccounts} from '../../warehouse/accounts/accounts.ts';
import {causeNumbers} from '../../warehouse/alerts/causes.ts';
import {readRetention} from '../../warehouse/history/retention/retention.ts';
import {checkMigrations} from '../../warehouse/schema/migration-check.ts';
import {chooseAccount} from '../accounts/choose-account.ts';
import {print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';
import {drawStatus} from './draw-status.ts';
import {toLooker} from './looker.ts';

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
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool, place} = warehouse;
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const chosen =
      options.account === undefined
        ? await listAccounts(pool)
        : [await chooseAccount(warehouse, options.account)];
    const {now, accounts} = await readAccounts(pool, chosen);
    const underWay = await readUnderWay(pool, chosen);
    const installation = await readInstallation(pool, toLooker(config));
    const {workers} = installation;
    const retention = await readRetention(pool);
    const concerns = findEveryConcern(accounts, installation, now);
    const numbered = concerns.map((concern) => ({...concern, docs: causeNumbers[concern.kind]}));
    print(options.json, {
      json: {warehouse: place, now, workers, accounts, underWay, retention, concerns: numbered},
      text: drawStatus(accounts, {place, now, workers, underWay, retention, concerns}),
    });
    return concerns.length > 0 ? 1 : 0;
  });
}
