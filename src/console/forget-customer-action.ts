import type pg from 'pg';
import {z} from 'zod';
import {
  type CustomerKey,
  findCustomer,
  forgetCustomer as forget,
  listNames,
  listReceipts,
  type Receipt,
  sumRemoved,
} from '../accounts/forget-customer.ts';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {defineAction} from './action.ts';
import {findSeen} from './find-seen.ts';
import {notThere, Refused} from './refused.ts';

/**
 * Forgets a customer, as `fieldmirror forget customers` does: the receipt and the entry of the
 * audit hold none of the data.
 */
export const forgetCustomer = defineAction({
  path: '/records/customers/:number/forget',
  name: 'customers.forget',
  role: 'admin',
  form: z.object({account: z.string(), typed: z.string().trim().max(100).default('')}),
  act: async (db, {seen, params, given, doings}) => {
    const {accountId, name} = findSeen(seen, given.account);
    const {number = ''} = params;
    const label = `customer ${number} of ${name}`;
    if (!/^[1-9]\d{0,17}$/.test(number)) throw notThere(label);
    if (given.typed !== number)
      throw new UsageError(
        `expected the number ${number}, typed back to forget ${label}, got another one`,
      );
    const customer = {accountId, number};
    if ((await findCustomer(db, customer)) === null) throw notThere(label);
    const to = `/records/customers/${number}?${new URLSearchParams({account: name})}`;
    const {names, removed} = await forgetOnce(db, customer, {label, to});
    return {
      subject: `customers ${number}`,
      accountId,
      after: {removed: Object.fromEntries(removed.map(({table, rows}) => [table, rows]))},
      said: `Customer ${number} of ${name} is forgotten: ${sumRemoved(removed)}.`,
      to,
      dropsReadings: true,
      afterwards: () => doings.clearUpForgotten({accountId, names}),
    };
  },
});

/**
 * The receipts are looked at once more behind the locks: two persons may have gone on from the same
 * preview.
 */
async function forgetOnce(
  db: pg.ClientBase,
  customer: CustomerKey,
  told: {readonly label: string; readonly to: string},
): Promise<Receipt & {readonly names: readonly string[]}> {
  refuseForgotten(await listReceipts(db, customer), told);
  try {
    const names = await listNames(db, customer);
    const receipt = await forget(db, customer);
    refuseForgotten((await listReceipts(db, customer)).slice(1), told);
    return {...receipt, names};
  } catch (error) {
    if (error instanceof FatalError || error instanceof RetryableError)
      throw new UsageError(error.message.replace(/\.$/, ''), {cause: error});
    throw error;
  }
}

function refuseForgotten(
  [receipt]: readonly Receipt[],
  {label, to}: {readonly label: string; readonly to: string},
): void {
  if (receipt === undefined) return;
  throw new Refused(409, {
    title: 'It came too late',
    text: `It was forgotten already, at ${receipt.forgottenAt}: ${label}. Nothing was done.`,
    ways: [{href: to, label: 'Look at the receipt'}],
  });
}
