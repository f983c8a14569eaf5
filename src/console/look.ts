import type {Account} from '../accounts/accounts.ts';
import type {Role} from '../accounts/roles.ts';
import {mayActAs, type Viewer} from './viewer.ts';

/** Which tables' changes an open page is redrawn for: names of sync's tables. */
export type Moving =
  | 'changes'
  | 'sweeps'
  | 'accounts'
  | 'alerts'
  | 'alert_rules'
  | 'alert_deliveries'
  | 'feed_hooks'
  | 'feed_dead_letters';

/**
 * The circumstances under which a page is drawn: who looks, at which accounts, when, and by which
 * clock.
 */
export interface Look {
  readonly viewer: Viewer;
  /** Accounts that the viewer may see. */
  readonly seen: readonly Account[];
  /** Those of them that the page is about: all, unless one was chosen. */
  readonly accounts: readonly Account[];
  /** The address of the page, with its filters. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** IANA zone in which times are shown. */
  readonly timeZone: string;
  /** ISO 8601, by the clock of this machine: ages on pages are rough. */
  readonly now: string;
}

export function may({viewer}: Look, role: Role): boolean {
  return mayActAs(viewer, role);
}

/** The account of that number, for its name. */
export function nameOfAccount({seen}: Pick<Look, 'seen'>, accountId: string | null): string {
  return seen.find((account) => account.accountId === accountId)?.name ?? '';
}

/**
 * An address of the console with some filters; those that are empty are left out. The chosen
 * account stays chosen.
 * @param filters - by name; null takes one away
 */
export function linkTo(
  look: Pick<Look, 'query'>,
  path: string,
  filters: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const kept = look.query.account === undefined ? {} : {account: look.query.account};
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({...kept, ...filters}))
    if (value !== null && value !== undefined && value !== '') query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}
