import type {Account} from '../accounts/accounts.ts';
import {notThere} from './refused.ts';

/** The account of that name among those that the viewer may see. @throws {Refused} there is none */
export function findSeen(seen: readonly Account[], name: string | undefined): Account {
  const account = seen.find((known) => known.name === name);
  if (account === undefined) throw notThere(`account ${JSON.stringify(name ?? '')}`);
  return account;
}
