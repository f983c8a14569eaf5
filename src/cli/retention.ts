// The verbs that remove data. `prune` removes data that is no longer kept. `forget` removes a
// customer, who is shown first, and whose name is typed back; its receipt contains none of the
// data.

import {
  cleanUpForgotten,
  countForgotten,
  describeEnd,
  describeFiles,
  type ForgottenRows,
  findCustomer,
  forgetCustomer,
  listNames,
  sumRemoved,
} from '../accounts/forget-customer.ts';
import {endDeadLeases} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import {capitalise, isId, printErr} from '../core/text.ts';
import {inTransaction} from '../postgres/database.ts';
import {
  countPrunable,
  describeDays,
  pruneHistory,
  type Retention,
  readPruningLeaseMs,
  readRetention,
  wordsOf,
} from '../retention/retention.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, print, typeBack} from './terminal.ts';
import {openPatientPool, requireMigrated, withWarehouse} from './warehouse.ts';

interface PruneOptions {
  /** Only counts, and removes nothing. */
  readonly dryRun?: boolean;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

interface PrunedRow extends Pick<Retention, 'kind' | 'days' | 'prunedTo'> {
  readonly count: number;
}

/**
 * Removes the data that is no longer kept, at once, as a worker does each hour.
 * @returns the exit code: 1 if another process is pruning, and nothing was done
 */
export async function prune(config: Config, options: PruneOptions): Promise<number> {
  const {json, dryRun = false} = options;
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    const counts = new Map<string, number>();
    if (dryRun) {
      for (const {kind} of (await readRetention(pool)).kinds)
        counts.set(kind, await countPrunable(pool, kind));
    } else {
      await endDeadLeases(pool);
      const removed = await pruneHistory({pool, signal: options.signal, restMs: 0});
      if (removed === null) {
        const leaseMs = await readPruningLeaseMs(pool);
        print(json, {
          json: {state: 'busy', kinds: [], leaseMs},
          text:
            'another process is pruning at the moment: nothing was done; if that process has ' +
            `ended, the next one may begin in ${formatDuration(Math.max(1_000, leaseMs))} at most`,
        });
        return 1;
      }
      for (const {kind, count} of removed) counts.set(kind, count);
    }
    const {kinds} = await readRetention(pool);
    const rows = kinds.map(({kind, days, prunedTo}) => ({
      kind,
      days,
      prunedTo,
      count: counts.get(kind) ?? 0,
    }));
    const joined = counts.get('joined_versions') ?? 0;
    const joinedText =
      joined === 0 ? '' : `\n${formatNumber(joined)} pairs of versions were joined`;
    print(json, {
      json: {state: dryRun ? 'counted' : 'pruned', kinds: rows, joinedVersions: joined},
      text: `${formatPruned(rows, dryRun)}${joinedText}`,
    });
    return 0;
  });
}

function formatPruned(rows: readonly PrunedRow[], isDry: boolean): string {
  const total = rows.reduce((sum, {count}) => sum + count, 0);
  const table = fitTable(
    ['what', 'kept', isDry ? 'would go' : 'removed', 'none from before'],
    rows.map(({kind, days, count, prunedTo}) => [
      wordsOf(kind),
      describeDays(days),
      count,
      prunedTo ?? '',
    ]),
  );
  const ending = isDry ? 'would be removed; nothing was' : 'removed';
  return `${table}\n${formatNumber(total)} ${ending}`;
}

interface ForgetOptions {
  readonly account?: string;
  readonly json: boolean;
}

/**
 * Removes the personal data of a customer from the warehouse, and keeps them out of it from then
 * on. Nothing is sent to the service.
 * @throws {UsageError} no such customer here; another name was typed
 * @throws {FatalError} changes of the customer are still open
 */
export async function forget(
  config: Config,
  {stream, number}: {readonly stream: string; readonly number: string},
  {account: name, json}: ForgetOptions,
): Promise<number> {
  checkArguments(stream, number);
  return await withWarehouse(config, {migrates: false}, async ({directUrl}) => {
    const pool = openPatientPool(directUrl);
    try {
      const account = await chooseAccount({pool}, name);
      const customer = {accountId: account.accountId, number};
      const storedCustomer = await findCustomer(pool, customer);
      if (storedCustomer === null)
        throw new UsageError(
          `forget customers: expected the number of a customer of ${account.name}, ` +
            `got ${number}, of which nothing is here`,
        );
      const label = `customer ${number} of ${account.name}`;
      printErr(
        `${formatRemoved(await countForgotten(pool, customer))}\n` +
          `${describeEnd(label, storedCustomer).join('\n')}\n`,
      );
      await typeBack(`to forget ${label}`, storedCustomer.name ?? number);
      const names = await listNames(pool, customer);
      const receipt = await inTransaction(pool, (client) => forgetCustomer(client, customer));
      const reports = await cleanUpForgotten(pool, {accountId: account.accountId, names});
      const summary = [sumRemoved(receipt.removed), ...describeFiles(reports)].join('; ');
      print(json, {
        json: {
          account: account.name,
          customer: number,
          isLive: storedCustomer.isLive,
          ...receipt,
          reports,
        },
        text: `${label} is forgotten: ${summary}`,
      });
      return 0;
    } finally {
      await pool.end();
    }
  });
}

/**
 * Removes the weekly reports that name a customer whom the console has forgotten, and vacuums.
 * @returns a sentence on the weekly reports
 */
export async function clearUp(
  directUrl: string,
  forgotten: {readonly accountId: string; readonly names: readonly string[]},
): Promise<string> {
  const pool = openPatientPool(directUrl);
  try {
    const summary = describeFiles(await cleanUpForgotten(pool, forgotten)).join('; ');
    return summary === '' ? 'No weekly report named it.' : `${capitalise(summary)}.`;
  } finally {
    await pool.end();
  }
}

function checkArguments(stream: string, number: string): void {
  if (stream !== 'customers')
    throw new UsageError(
      `forget: expected customers, got "${stream}"; no one else can be forgotten`,
    );
  if (!isId(number))
    throw new UsageError(`forget customers: expected the number of a customer, got "${number}"`);
}

function formatRemoved(removed: readonly ForgottenRows[]): string {
  if (removed.length === 0) return 'No personal data of it is left here.';
  return fitTable(
    ['table', 'rows that are emptied or go'],
    removed.map(({table, rows}) => [table, formatNumber(rows)]),
  );
}
