// A customer is forgotten: shown first, typed back, with a receipt that holds none of the data.

import {
  clearUpForgotten,
  countForgotten,
  describeEnd,
  describeFiles,
  findCustomer,
  forgetCustomer,
  listNames,
  type Removed,
  sumRemoved,
} from '../accounts/forget-customer.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {tellAside} from '../core/text.ts';
import {inTransaction, openPool} from '../postgres/database.ts';
import {chooseAccount} from './choose-account.ts';
import {drawTable, print} from './report.ts';
import {typeBack} from './type-back.ts';
import {tellWait, withWarehouse} from './with-warehouse.ts';

interface Options {
  readonly account?: string;
  readonly json: boolean;
}

/**
 * Removes the personal data of a customer from the warehouse, and keeps them out of it from then
 * on. The service hears nothing of it.
 * @throws {UsageError} no such customer here; another name was typed
 * @throws {FatalError} changes of the customer are not over
 */
export async function forget(
  config: Config,
  {stream, number}: {readonly stream: string; readonly number: string},
  {account: name, json}: Options,
): Promise<number> {
  checkArguments(stream, number);
  return await withWarehouse(config, {migrates: false}, async ({directUrl}) => {
    const pool = openPatient(directUrl);
    try {
      const account = await chooseAccount({pool}, name);
      const customer = {accountId: account.accountId, number};
      const held = await findCustomer(pool, customer);
      if (held === null)
        throw new UsageError(
          `forget customers: expected the number of a customer of ${account.name}, got ${number}, of which nothing is here`,
        );
      const label = `customer ${number} of ${account.name}`;
      tellAside(
        `${drawRemoved(await countForgotten(pool, customer))}\n${describeEnd(label, held).join('\n')}\n`,
      );
      await typeBack(`to forget ${label}`, held.name ?? number);
      const names = await listNames(pool, customer);
      const receipt = await inTransaction(pool, (client) => forgetCustomer(client, customer));
      const reports = await clearUpForgotten(pool, {accountId: account.accountId, names});
      print(json, {
        json: {account: account.name, customer: number, isLive: held.isLive, ...receipt, reports},
        text: `${label} is forgotten: ${[sumRemoved(receipt.removed), ...describeFiles(reports)].join('; ')}`,
      });
      return 0;
    } finally {
      await pool.end();
    }
  });
}

/**
 * Clears up behind a customer that the console has forgotten.
 * @returns a sentence on the weekly reports
 */
export async function clearUp(
  directUrl: string,
  forgotten: {readonly accountId: string; readonly names: readonly string[]},
): Promise<string> {
  const pool = openPatient(directUrl);
  try {
    const told = describeFiles(await clearUpForgotten(pool, forgotten)).join('; ');
    return told === ''
      ? 'No weekly report named it.'
      : `${told.slice(0, 1).toUpperCase()}${told.slice(1)}.`;
  } finally {
    await pool.end();
  }
}

/**
 * All versions and all messages are looked through: that takes longer than a statement of a worker
 * may.
 */
function openPatient(directUrl: string): ReturnType<typeof openPool> {
  return openPool(directUrl, {
    ...{max: 1, applicationName: 'fieldmirror', statementTimeoutMs: 0},
    onWait: tellWait,
  });
}

function checkArguments(stream: string, number: string): void {
  if (stream !== 'customers')
    throw new UsageError(
      `forget: expected customers, got "${stream}"; nobody else can be forgotten`,
    );
  if (!/^[1-9]\d{0,17}$/.test(number))
    throw new UsageError(`forget customers: expected the number of a customer, got "${number}"`);
}

function drawRemoved(removed: readonly Removed[]): string {
  if (removed.length === 0) return 'Nothing personal of it is here any more.';
  return drawTable(
    ['table', 'rows that are emptied or go'],
    removed.map(({table, rows}) => [table, formatNumber(rows)]),
  );
}
