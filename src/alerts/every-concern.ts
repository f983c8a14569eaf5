// Everything that concerns a person, found in one place: `status` draws it, alerts tell it.

import {listWorkers} from '../accounts/workers.ts';
import {type FeedHook, listHooks} from '../feed/feed-hooks.ts';
import type {AccountFacts} from '../health/account-status.ts';
import {listParts, nameOwnWaits} from '../health/heartbeats.ts';
import {describeCopy, mendOfCopy, readInstallationRow} from '../health/installation.ts';
import {namePlace, type WarehouseAddress} from '../health/place-name.ts';
import {listSizes, readFreeBytes, type Size} from '../health/table-sizes.ts';
import {readNow} from '../postgres/checks.ts';
import type {Queryable} from '../postgres/database.ts';
import {type HeldUp, listHeldUp} from '../postgres/lock-waits.ts';
import {readWaitingSince} from '../star/refresh-star.ts';
import {type Concern, findConcerns} from './concerns.ts';
import {type Bound, findGrowth} from './growth-concerns.ts';
import {findHeldUp} from './held-up-concerns.ts';
import {findLateParts, listLateParts, type PartFacts} from './part-concerns.ts';
import {findFailingHooks, findFailingRules} from './receiver-concerns.ts';
import {listRuleHealth, type RuleHealth} from './rule-health.ts';
import {findStarConcerns} from './star-concerns.ts';
import {findWorkerConcerns, type Workforce} from './worker-concerns.ts';

/** What stands beside the accounts. */
export interface Installation extends Workforce, PartFacts {
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
    ...(await readParts(db)),
    sizes: [...disk, ...(names.length === 0 ? [] : await listSizes(db, names))],
  };
}

/** Reads how the parts of live workers fare, and where one is late, what holds it up. */
export async function readParts(db: Queryable): Promise<PartFacts> {
  const parts = await listParts(db);
  const isLate = listLateParts(parts, await readNow(db)).length > 0;
  return {parts, waitsFor: isLate ? await nameOwnWaits(db) : []};
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
