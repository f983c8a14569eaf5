// Everything that concerns a person, found in one place: `status` draws it, alerts tell it.

import type pg from 'pg';
import {listAccounts} from '../accounts/accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import {type FeedHook, listHooks} from '../feed/hooks.ts';
import {type AccountFacts, readAccountFacts} from '../health/account-status.ts';
import {listSizes, readFreeBytes, type Size} from '../health/figures.ts';
import {listOwnWaits, listParts} from '../health/heartbeats.ts';
import {
  describeCopy,
  mendOfCopy,
  namePlace,
  readInstallationRow,
  type WarehouseAddress,
} from '../health/installation.ts';
import {readNow} from '../postgres/checks.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type HeldUp, isLockTimeout, listHeldUp} from '../postgres/lock-waits.ts';
import {readWaitingSince} from '../star/refresh-star.ts';
import {listOpenTroubles, type Trouble} from './alerts.ts';
import {type Concern, findConcerns, findDrift} from './concerns.ts';
import {listRuleHealth, type RuleHealth} from './deliveries.ts';
import {
  type Bound,
  findFailingHooks,
  findFailingRules,
  findGrowth,
  findHeldUp,
  findLateParts,
  findStarConcerns,
  findWorkerConcerns,
  listLateParts,
  type PartFacts,
  type Workforce,
} from './installation-concerns.ts';

/** What stands beside the accounts. */
interface Installation extends Workforce, PartFacts {
  /** Why the warehouse may be a copy; null where nothing speaks for it. */
  readonly copy: string | null;
  /** The sessions of others that hold Fieldmirror up. */
  readonly heldUp: readonly HeldUp[];
  /** See `readWaitingSince`. */
  readonly starWaitsSince: string | null;
  readonly rules: readonly RuleHealth[];
  readonly hooks: readonly FeedHook[];
  readonly bounds: readonly Bound[];
  readonly sizes: readonly Size[];
}

/** What the process that looks brings along. */
export interface Looker extends Pick<Workforce, 'keyIds'> {
  readonly bounds: readonly Bound[];
  /**
   * Folder of the embedded Postgres; null where Postgres is another one, whose disk is not seen
   * from here.
   */
  readonly home: string | null;
  /** The address by which it reaches the warehouse. */
  readonly address: WarehouseAddress;
}

/** Reads what stands beside the accounts. No table is counted. */
export async function readInstallation(
  db: Queryable,
  {keyIds, bounds, home, address}: Looker,
): Promise<Installation> {
  const names = bounds.map(({name}) => name).filter((name) => name !== 'disk');
  const disk = home === null ? [] : [{name: 'disk', bytes: await readFreeBytes(home)}];
  return {
    keyIds,
    bounds,
    heldUp: await listHeldUp(db),
    copy: describeCopy(await readInstallationRow(db), await namePlace(address)),
    workers: await listWorkers(db),
    starWaitsSince: await readWaitingSince(db),
    rules: await listRuleHealth(db),
    hooks: await listHooks(db),
    ...(await readPartFacts(db)),
    sizes: [...disk, ...(names.length === 0 ? [] : await listSizes(db, names))],
  };
}

/** Reads how the parts of live workers fare, and where one is late, what holds it up. */
export async function readPartFacts(db: Queryable): Promise<PartFacts> {
  const parts = await listParts(db);
  const isLate = listLateParts(parts, await readNow(db)).length > 0;
  return {parts, waitsFor: isLate ? await listOwnWaits(db) : []};
}

/** Finds everything that needs a person. @param now - ISO 8601, by the database's clock */
export function findEveryConcern(
  accounts: readonly AccountFacts[],
  installation: Installation,
  now: string,
): Concern[] {
  const {copy, heldUp, starWaitsSince, rules, hooks, bounds, sizes} = installation;
  return [
    ...(copy === null ? [] : [tellCopy(copy)]),
    ...findHeldUp(heldUp, now),
    ...findConcerns(accounts, now),
    ...findWorkerConcerns(accounts, installation, now),
    ...findLateParts(installation, now),
    ...findStarConcerns(starWaitsSince, now),
    ...findGrowth(bounds, sizes),
    ...findFailingRules(rules, installation, now),
    ...findFailingHooks(hooks, installation, now),
  ];
}

function tellCopy(text: string): Concern {
  return {
    account: null,
    stream: null,
    kind: 'copy',
    subject: '',
    since: null,
    text,
    next: mendOfCopy,
  };
}

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
