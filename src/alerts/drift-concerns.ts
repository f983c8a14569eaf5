import type {AccountFacts} from '../health/account-status.ts';
import type {Concern} from './concerns.ts';

const words = {
  new: 'a new field',
  vanished: 'no longer a field',
  retyped: 'a field with another type',
  returned: 'a field again',
} as const;

/**
 * Finds fields that are new, have vanished or changed their type within the last seven days. The
 * latest event of a field counts: one that came back is no concern. `status` lists the events
 * themselves.
 */
export function findDrift(accounts: readonly AccountFacts[]): Concern[] {
  return accounts.flatMap(({account, events}) => {
    const latest = new Map(
      events.toReversed().map((event) => [`${event.table}.${event.field}`, event]),
    );
    return [...latest]
      .filter(([, {kind}]) => kind !== 'returned')
      .map(([field, {kind, detail, at}]) => ({
        account: account.name,
        stream: null,
        kind: 'drift' as const,
        subject: field,
        since: at,
        text: `the service sends ${words[kind]}, ${field}: ${detail}`,
        next: 'does the business need it? docs/warehouse.md tells how a field becomes a column',
      }));
  });
}
