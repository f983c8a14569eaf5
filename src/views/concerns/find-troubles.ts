import type pg from 'pg';
import {listAccounts} from '../../warehouse/accounts/accounts.ts';
import type {Trouble} from '../../warehouse/alerts/alerts.ts';
import {readAccountFacts} from '../account-status.ts';
import {findDrift} from './drift-concerns.ts';
import {findEveryConcern, type Looker, readInstallation} from './every-concern.ts';

/** Finds everything that an alert is about, of all accounts: the concerns of `status`, each thing by itself, and drift. */
export async function findTroubles(pool: pg.Pool, looker: Looker): Promise<Trouble[]> {
  const known = await listAccounts(pool);
  const {now, accounts} = await readAccountFacts(pool, known);
  const installation = await readInstallation(pool, looker);
  const concerns = [...findEveryConcern(accounts, installation, now), ...findDrift(accounts)];
  return concerns.map(({kind, account, stream, subject, since, text, next}) => ({
    cause: kind,
    accountId: known.find(({name}) => name === account)?.accountId ?? null,
    ...{stream, subject, since, text, next},
  }));
}
