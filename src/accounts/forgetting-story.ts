// Forgetting a customer, before and after it is done, as the verb and the console tell it.

import type pg from 'pg';
import {FatalError, RetryableError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import type {ClearedFiles} from './clear-up-forgotten.ts';
import {
  type CustomerKey,
  countForgotten,
  findCustomer,
  type HeldCustomer,
  listReceipts,
  type Receipt,
  type Removed,
} from './forget-customer.ts';

/** A customer that is to be forgotten, or was. */
export interface ForgettingStory extends Pick<HeldCustomer, 'name' | 'isLive'> {
  readonly number: string;
  readonly account: string;
  /** The rows that would go; none where it was forgotten, or cannot be. */
  readonly removed: readonly Removed[];
  /** Why it cannot be forgotten now; null where it can. */
  readonly refusal: string | null;
  /** The newest first; none where it was never forgotten. */
  readonly receipts: readonly Receipt[];
}

/**
 * Reads what forgetting a customer would do. It is done and taken back, and holds up writers
 * meanwhile.
 * @returns null where nothing is here of such a customer
 */
export async function readForgetting(
  pool: pg.Pool,
  {accountId, name: account}: {readonly accountId: string; readonly name: string},
  number: string,
): Promise<ForgettingStory | null> {
  const customer = {accountId, number};
  const held = await findCustomer(pool, customer);
  if (held === null) return null;
  const {name, isLive} = held;
  const receipts = await listReceipts(pool, customer);
  const counted =
    receipts.length === 0 ? await count(pool, customer) : {removed: [], refusal: null};
  return {number, account, name, isLive, receipts, ...counted};
}

async function count(
  pool: pg.Pool,
  customer: CustomerKey,
): Promise<Pick<ForgettingStory, 'removed' | 'refusal'>> {
  try {
    return {removed: await countForgotten(pool, customer), refusal: null};
  } catch (error) {
    if (error instanceof FatalError || error instanceof RetryableError)
      return {removed: [], refusal: error.message};
    throw error;
  }
}

/** A sentence or two each on the data that go, those that stay, and those that are not reached. */
export function describeEnd(
  label: string,
  {name, isLive}: Pick<HeldCustomer, 'name' | 'isLive'>,
): string[] {
  return [
    `The personal data of ${label}${name === null ? '' : `, ${name},`} go for good, from every version. Numbers, amounts and times stay.`,
    isLive
      ? 'The service still has this customer. What it sends of them is kept out here; to be forgotten there, the record must be deleted there, too.'
      : 'The service has this customer no longer.',
    'Backups, exported files and readers of the feed hold what they took.',
  ];
}

/** Rows that went, added up: `12 rows in 3 tables`. */
export function sumRemoved(removed: readonly Removed[]): string {
  const rows = removed.reduce((sum, each) => sum + each.rows, 0);
  return `${formatNumber(rows)} rows in ${formatNumber(removed.length)} tables`;
}

/**
 * The weekly reports that were cleared up, and those that could not be; none where none named the
 * customer.
 */
export function describeFiles({removed, unseen}: ClearedFiles): string[] {
  return [
    ...(removed.length === 0 ? [] : [`removed weekly reports ${removed.join(', ')}`]),
    ...(unseen.length === 0
      ? []
      : [`weekly reports that cannot be read from here: ${unseen.join(', ')}`]),
  ];
}
