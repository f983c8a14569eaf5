import type {Account} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {type QuarantineEntry, readQuarantine} from '../sweeps/quarantine.ts';
import {notThere} from './refused.ts';

/** An entry with the XML that the service sent, without secrets. */
export type Entry = QuarantineEntry & {readonly xml: string};

/**
 * The entry of that number, of an account that the viewer may see. @throws {Refused} there is none
 */
export async function findEntry(db: Queryable, seen: readonly Account[], id = ''): Promise<Entry> {
  const entry = /^[1-9]\d{0,17}$/.test(id) ? await readQuarantine(db, id) : null;
  if (entry !== null && seen.some(({accountId}) => accountId === entry.accountId)) return entry;
  throw notThere(`entry ${JSON.stringify(id)} in quarantine`, [
    {href: '/quarantine', label: 'Records in quarantine'},
  ]);
}
