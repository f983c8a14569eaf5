// A customer is forgotten: shown first, typed back, with a receipt that holds none of the data.

import {readFile, rm} from 'node:fs/promises';
import type {Config} from '../../base/config.ts';
import {UsageError} from '../../base/errors.ts';
import {escapeXml} from '../../base/spelling/escape-xml.ts';
import {tellAside} from '../../base/terminal.ts';
import {formatNumber} from '../../views/format.ts';
import {
  countForgotten,
  findCustomer,
  forgetCustomer,
  type HeldCustomer,
  listReportFiles,
  type Removed,
} from '../../warehouse/accounts/forget/forget-customer.ts';
import {openPool} from '../../warehouse/postgres/database.ts';
import {drawTable, print} from '../terminal/report.ts';
import {typeBack} from '../terminal/type-back.ts';
import {withWarehouse} from '../warehouse.ts';
import {chooseAccount} from './choose-account.ts';

interface Options {
  readonly account?: string;
  readonly json: boolean;
}

/** Files of weekly reports, by what became of them. */
interface Files {
  readonly removed: readonly string[];
  /** They cannot be read from here. */
  readonly unseen: readonly string[];
}

/**
 * Removes the personal data of a customer from the warehouse, and keeps them out of it from then on. The service hears nothing of it.
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
    // All versions and all messages are looked through: that takes longer than a statement of a worker may.
    const pool = openPool(directUrl, {max: 1, applicationName: 'fieldmirror', statementTimeoutMs: 0});
    try {
      const account = await chooseAccount({pool}, name);
      const customer = {accountId: account.accountId, number};
      const held = await findCustomer(pool, customer);
      if (held === null)
        throw new UsageError(
          `forget customers: expected the number of a customer of ${account.name}, got ${number}, of which nothing is here`,
        );
      const label = `customer ${number} of ${account.name}`;
      tellAside(`${drawRemoved(await countForgotten(pool, customer))}\n${describeEnd(label, held)}\n`);
      await typeBack(`to forget ${label}`, held.name ?? number);
      const receipt = await forgetCustomer(pool, customer);
      const reports = await removeReports(await listReportFiles(pool, account.accountId), held.names);
      print(json, {
        json: {account: account.name, customer: number, isLive: held.isLive, ...receipt, reports},
        text: `${label} is forgotten: ${describeReceipt(receipt.removed, reports)}`,
      });
      return 0;
    } finally {
      await pool.end();
    }
  });
}

function checkArguments(stream: string, number: string): void {
  if (stream !== 'customers')
    throw new UsageError(`forget: expected customers, got "${stream}"; nobody else can be forgotten`);
  if (!/^[1-9]\d{0,17}$/.test(number))
    throw new UsageError(`forget customers: expected the number of a customer, got "${number}"`);
}

/** A page names customers as HTML: a file that holds one of the names goes as a whole. */
async function removeReports(files: readonly string[], names: readonly string[]): Promise<Files> {
  const removed: string[] = [];
  const unseen: string[] = [];
  const escaped = names.flatMap((name) => [name, escapeXml(name)]);
  for (const file of files) {
    const page = await readFile(file, 'utf8').catch(() => null);
    if (page === null) unseen.push(file);
    else if (escaped.some((name) => page.includes(name))) {
      await rm(file);
      removed.push(file);
    }
  }
  return {removed, unseen};
}

function drawRemoved(removed: readonly Removed[]): string {
  if (removed.length === 0) return 'Nothing personal of it is here any more.';
  return drawTable(
    ['table', 'rows that are emptied or go'],
    removed.map(({table, rows}) => [table, formatNumber(rows)]),
  );
}

function describeEnd(label: string, {name, isLive}: HeldCustomer): string {
  const service = isLive
    ? 'The service still has this customer. What it sends of them is kept out here; to be forgotten there, the record must be deleted there, too.'
    : 'The service has this customer no longer.';
  return `The personal data of ${label}${name === null ? '' : `, ${name},`} go for good, from every version. Numbers, amounts and times stay.
${service}
Backups, exported files and readers of the feed hold what they took.`;
}

function describeReceipt(removed: readonly Removed[], {removed: gone, unseen}: Files): string {
  const rows = removed.reduce((sum, each) => sum + each.rows, 0);
  const reports = [
    ...(gone.length === 0 ? [] : [`removed weekly reports ${gone.join(', ')}`]),
    ...(unseen.length === 0 ? [] : [`weekly reports that cannot be read from here: ${unseen.join(', ')}`]),
  ];
  return [`${formatNumber(rows)} rows in ${formatNumber(removed.length)} tables`, ...reports].join('; ');
}
