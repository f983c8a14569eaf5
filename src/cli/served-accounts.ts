// The accounts that a command serves. An active account whose token cannot be had here is told, not
// left out without a word.

import {type Account, describeIdle} from '../accounts/accounts.ts';
import {UsageError} from '../core/errors.ts';
import type {Unopened, World} from './world.ts';

export interface Served {
  /** Accounts in any state whose tokens this process has, or has the key of. */
  readonly known: readonly Account[];
  /** The accounts that are served. */
  readonly active: readonly Account[];
  /** Active accounts that are not served. */
  readonly unopened: readonly Unopened[];
}

/** @throws {UsageError} there are active accounts, and the token of none can be had here */
export async function listServed(
  world: Pick<World, 'listKnown' | 'listUnopened'>,
): Promise<Served> {
  const known = await world.listKnown();
  const unopened = await world.listUnopened();
  const closed = new Set(unopened.map(({accountId}) => accountId));
  const active = known.filter(({accountId, state}) => state === 'active' && !closed.has(accountId));
  if (active.length === 0) refuse(unopened);
  return {known, active, unopened};
}

/** @throws {UsageError} the token of this account cannot be had here */
export async function requireOpened(
  world: Pick<World, 'listUnopened'>,
  {accountId}: Account,
): Promise<void> {
  refuse((await world.listUnopened()).filter((each) => each.accountId === accountId));
}

/** One line for each account that is not served, with the reason and the next step. */
export function describeUnopened(unopened: readonly Unopened[]): string[] {
  return unopened.map(({reason}) => `not served: ${reason}`);
}

function refuse(unopened: readonly Unopened[]): void {
  if (unopened.length > 0) throw new UsageError(describeUnopened(unopened).join('\n'));
}

/** Why there is nothing to do, and the next step. */
export function describeNone(known: readonly Account[]): string {
  if (known.length > 0) return known.map(describeIdle).join('\n');
  return 'no account yet: fieldmirror accounts add NAME --url URL --time-zone ZONE';
}
