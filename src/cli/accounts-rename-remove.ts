// An account gets another name, or goes with all that it holds.

import {
  countHoldings,
  findWorkUnderWay,
  type Holding,
  listAccounts,
  placeOf,
  removeAccount,
  renameAccount,
} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {demoName} from '../core/names.ts';
import {tellAside} from '../core/text.ts';
import {inTransaction, openPool} from '../postgres/database.ts';
import {isEnvironments} from './accounts.ts';
import {checkName} from './accounts-add.ts';
import {chooseAccount} from './choose-account.ts';
import {drawTable, print} from './report.ts';
import {typeBack} from './type-back.ts';
import {tellWait, withWarehouse} from './with-warehouse.ts';

interface Output {
  readonly json: boolean;
}

/**
 * Gives an account another name here. Its rows, history and changes go by its number and stay;
 * settings of files follow.
 * @throws {UsageError} a name that cannot be, or that another account has; the made-up data keep
 *   theirs
 */
export async function rename(
  config: Config,
  name: string,
  next: string,
  {json}: Output,
): Promise<number> {
  checkName(next, 'accounts rename');
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, name);
    if (name === demoName)
      throw new UsageError(
        `accounts rename: "${demoName}" is the name by which the made-up data are known`,
      );
    const twin = (await listAccounts(pool)).find((each) => each.name === next);
    if (twin !== undefined)
      throw new UsageError(
        `accounts rename: expected a name that no account has, got "${next}", which mirrors ${placeOf(twin.apiUrl)}`,
      );
    await inTransaction(pool, (client) => renameAccount(client, account, next));
    print(json, {
      json: {accountId: account.accountId, before: name, after: next},
      text: `account ${name} is called ${next} now; a file of settings that names it needs the new name, too`,
    });
    return 0;
  });
}

/**
 * Removes an account with all that it holds here, after showing what that is; its name is typed
 * back. The service hears nothing of it.
 * @throws {UsageError} another name was typed
 * @throws {FatalError} it is active, or work of it is under way
 */
export async function remove(config: Config, name: string, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({directUrl}) => {
    // A million versions take longer than a statement of a worker may.
    const pool = openPool(directUrl, {
      ...{max: 1, applicationName: 'fieldmirror', statementTimeoutMs: 0},
      onWait: tellWait,
    });
    try {
      const account = await chooseAccount({pool}, name);
      refuse(
        name,
        await inTransaction(pool, (client) => findWorkUnderWay(client, account.accountId)),
      );
      const holdings = await countHoldings(pool, account.accountId);
      tellAside(`${drawHoldings(holdings)}\n${describeEnd(name, placeOf(account.apiUrl))}\n`);
      await typeBack(`to remove account ${name} from here`, name);
      await inTransaction(pool, async (client) => {
        refuse(name, await findWorkUnderWay(client, account.accountId));
        await removeAccount(client, account);
      });
      const again = isEnvironments(config, account)
        ? '; the environment names it, and the next start would mirror it anew: take FIELDMIRROR_API_URL away'
        : '';
      print(json, {json: {account, holdings}, text: `account ${name} is removed${again}`});
      return 0;
    } finally {
      await pool.end();
    }
  });
}

function refuse(name: string, reason: string | null): void {
  if (reason === null) return;
  throw new FatalError(
    `account ${name}: expected it to rest, but ${reason}; fieldmirror accounts pause ${name}, and remove it when nothing of it is under way`,
    {kind: 'in-use'},
  );
}

function drawHoldings(holdings: readonly Holding[]): string {
  if (holdings.length === 0) return 'It holds nothing here.';
  return drawTable(
    ['table', 'rows that go'],
    holdings.map(({table, rows}) => [table, formatNumber(Number(rows))]),
  );
}

function describeEnd(name: string, place: string): string {
  return `These rows, the token and the settings of ${name} go for good, and changes that were not sent are never sent. ${place} keeps what it has.
Backups hold them still. Entries of the audit stay.`;
}
