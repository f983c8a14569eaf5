import type pg from 'pg';
import {listAccounts} from '../accounts/accounts.ts';
import {readAccountFacts} from '../health/account-status.ts';
import {readNow} from '../postgres/checks.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {isLockTimeout, listHeldUp} from '../postgres/lock-waits.ts';
import {listOpenTroubles, type Trouble} from './alerts.ts';
import type {Concern} from './concerns.ts';
import {findDrift} from './drift-concerns.ts';
import {findEveryConcern, type Looker, readInstallation} from './every-concern.ts';
import {findHeldUp} from './held-up-concerns.ts';

/**
 * Finds everything that an alert is about, of all accounts: the concerns of `status`, each thing by
 * itself, and drift. Where somebody has locked what is read for that, it tells who, and leaves
 * every other alert as it is.
 */
export async function findTroubles(pool: pg.Pool, looker: Looker): Promise<Trouble[]> {
  try {
    return await inTransaction(pool, async (client) => {
      await client.query(`SET LOCAL lock_timeout TO '2s'`);
      return await findEveryTrouble(client, looker);
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    const heldUp = findHeldUp(await listHeldUp(pool), await readNow(pool));
    return [
      ...(await listOpenTroubles(pool, 'held-up')),
      ...heldUp.map((concern) => toTrouble(concern, null)),
    ];
  }
}

async function findEveryTrouble(db: Queryable, looker: Looker): Promise<Trouble[]> {
  const known = await listAccounts(db);
  const {now, accounts} = await readAccountFacts(db, known);
  const installation = await readInstallation(db, looker);
  const concerns = [...findEveryConcern(accounts, installation, now), ...findDrift(accounts)];
  return concerns.map((concern) =>
    toTrouble(concern, known.find(({name}) => name === concern.account)?.accountId ?? null),
  );
}

function toTrouble(
  {kind, stream, subject, since, text, next}: Concern,
  accountId: string | null,
): Trouble {
  return {cause: kind, accountId, stream, subject, since, text, next};
}
