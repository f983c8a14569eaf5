import {type Account, listAccounts} from '../accounts/accounts.ts';
import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {tellPruned} from '../retention/retention.ts';
import type {KeptAlteration} from './alterations.ts';
import type {Change} from './change.ts';
import {
  type Attempt,
  type FieldConflict,
  readAttempts,
  readChange,
  readWaiting,
} from './change-log.ts';
import {type NextStep, tellNext} from './change-next.ts';
import {pageOfChange} from './change-page.ts';
import {type PlannedRequest, planRequests, type Unplannable} from './change-request.ts';
import {maskChange} from './change-words.ts';
import {readCircumstances} from './circumstances.ts';

/** All facts about a change; passwords are masked. */
export interface ChangeStory {
  readonly change: Change;
  /** Name of the account. */
  readonly account: string;
  /** ISO 8601, by the database's clock. */
  readonly now: string;
  /** The change it waits for. */
  readonly blocker: Change | null;
  /** The changes that wait for it: how many, and the first of them. */
  readonly waiting: {readonly count: number; readonly first: readonly string[]};
  readonly attempts: readonly Attempt[];
  readonly conflicts: readonly FieldConflict[];
  /** The service's alterations, and who has looked at them. */
  readonly alterations: readonly KeptAlteration[];
  readonly next: NextStep | null;
  /** The request that would be sent; null where none is to be sent any more, or one was already. */
  readonly request: PlannedRequest | Unplannable | null;
  /** The number of the page with cause and mend; null where nothing has to be mended. */
  readonly docs: string | null;
}

/** @throws {UsageError} there is no change of that number */
export async function readStory(db: Queryable, id: string): Promise<ChangeStory> {
  const change = await findChange(db, id);
  const accounts = await listAccounts(db);
  const around = (await readCircumstances(db, [change], accounts)).get(change.changeId);
  if (around === undefined) throw new TypeError(`change ${id}: every change has its circumstances`);
  const {account, blocker, conflicts, alterations, now} = around;
  return {
    change: maskChange(change),
    account: account.name,
    now,
    blocker: blocker === null ? null : maskChange(blocker),
    waiting: await readWaiting(db, change.changeId),
    attempts: await readAttempts(db, change.changeId),
    conflicts,
    alterations,
    next: tellNext(change, around),
    request: await planRequest(db, change, accounts),
    docs: pageOfChange(change),
  };
}

/** @throws {UsageError} there is none of that number */
export async function findChange(db: Queryable, id: string): Promise<Change> {
  const change = /^[1-9]\d{0,17}$/.test(id) ? await readChange(db, id) : null;
  if (change === null)
    throw new UsageError(
      `no change "${id}"; fieldmirror changes list shows what there is${await tellPruned(db, 'settled_changes')}`,
    );
  return change;
}

async function planRequest(db: Queryable, change: Change, accounts: readonly Account[]) {
  if (change.state !== 'pending' && change.state !== 'held') return null;
  const [request] = await planRequests(db, [change], accounts);
  return request ?? null;
}
