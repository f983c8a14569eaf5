// Every problem, found in one place: `status` shows them, alerts report them.

import type pg from 'pg';
import {listAccounts} from '../accounts/accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import {
  listReportLists,
  listTargets,
  type ReportListHealth,
  type TargetHealth,
} from '../delivery/targets.ts';
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
import {findAccountProblems, findDrift} from './account-problems.ts';
import type {FoundProblems, Problem} from './alerts.ts';
import {listRuleHealth, type RuleHealth} from './deliveries.ts';
import {findDeliveryProblems, findReportProblems} from './delivery-problems.ts';
import {
  type Bound,
  findFailingHooks,
  findFailingRules,
  findGrowth,
  findHeldUp,
  findLateParts,
  findStarProblems,
  findWorkerProblems,
  listLateParts,
  type PartFacts,
  type Workforce,
} from './installation-problems.ts';

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
  readonly targets: readonly TargetHealth[];
  readonly reportLists: readonly ReportListHealth[];
  readonly bounds: readonly Bound[];
  readonly sizes: readonly Size[];
}

/** What the process that looks brings along. */
export interface HealthInput extends Pick<Workforce, 'keyIds'> {
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
  {keyIds, bounds, home, address}: HealthInput,
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
    targets: await listTargets(db),
    reportLists: await listReportLists(db),
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
export function findProblems(
  accounts: readonly AccountFacts[],
  installation: Installation,
  now: string,
): Problem[] {
  const {copy, heldUp, starWaitsSince, rules, hooks, targets, reportLists} = installation;
  const {bounds, sizes} = installation;
  return [
    ...(copy === null ? [] : [tellCopy(copy)]),
    ...findHeldUp(heldUp, now),
    ...findAccountProblems(accounts, now),
    ...findWorkerProblems(accounts, installation, now),
    ...findLateParts(installation, now),
    ...findStarProblems(starWaitsSince, now),
    ...findGrowth(bounds, sizes),
    ...findFailingRules(rules, installation, now),
    ...findFailingHooks(hooks, installation, now),
    ...findDeliveryProblems(targets, now),
    ...findReportProblems(reportLists, installation, now),
  ];
}

function tellCopy(text: string): Problem {
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
 * Finds everything that an alert is about, of all accounts: the problems of `status`, each thing by
 * itself, and drift. Where somebody has locked what is read for that, it tells who, and leaves
 * every other alert as it is.
 */
export async function readProblems(pool: pg.Pool, input: HealthInput): Promise<FoundProblems> {
  try {
    return await inTransaction(pool, async (client) => {
      await client.query(`SET LOCAL lock_timeout TO '2s'`);
      return await readEveryProblem(client, input);
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    const problems = findHeldUp(await listHeldUp(pool), await readNow(pool));
    return {problems, accounts: [], only: 'held-up'};
  }
}

async function readEveryProblem(db: Queryable, input: HealthInput): Promise<FoundProblems> {
  const known = await listAccounts(db);
  const {now, accounts} = await readAccountFacts(db, known);
  const installation = await readInstallation(db, input);
  const problems = [...findProblems(accounts, installation, now), ...findDrift(accounts)];
  return {problems, accounts: known, only: null};
}
