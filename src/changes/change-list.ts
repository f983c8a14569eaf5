// The changes as a list, a page at a time: each with its next step, and how many there are by
// state.

import type {Account} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {browseChanges} from './browse-changes.ts';
import type {Change} from './change.ts';
import {countChanges, listLateChanges} from './change-health.ts';
import {countLatestSettled} from './change-log.ts';
import {tellNext} from './change-next.ts';
import {type OpenState, openStates, type SettledState} from './change-states.ts';
import {nameChange, nameOutcome, tellWhy} from './change-words.ts';
import {readCircumstances} from './circumstances.ts';
import {countMovingChanges} from './moving-changes.ts';
import {describeChanges} from './moving-words.ts';
import type {Wanted} from './wanted-changes.ts';

const pageSize = 50;
/** Of the changes that are over so many are looked at to count them. */
const mostSettled = 1_000;

/** A change in a line. */
export interface ChangeLine
  extends Pick<
    Change,
    | 'changeId'
    | 'accountId'
    | 'state'
    | 'requestedAt'
    | 'requestedBy'
    | 'application'
    | 'batch'
    | 'waitsFor'
  > {
  /** `update customers 12` */
  readonly what: string;
  /** Names of the fields wanted. */
  readonly fields: readonly string[];
  /** The state in a word: `in doubt`, `altered`. */
  readonly outcome: string;
  readonly why: string;
  /** The next step; null where none is needed any more. */
  readonly next: string | null;
}

export interface ChangeCounts {
  /** How many need a person: the late ones, and whatever is held. */
  readonly needy: number;
  readonly open: readonly {readonly state: OpenState; readonly count: number}[];
  /** Of the latest that are over. */
  readonly settled: readonly {readonly state: SettledState; readonly count: number}[];
}

export interface ChangeList {
  readonly wanted: Wanted;
  readonly counts: ChangeCounts;
  /** `acme: 1,200 changes to carry, 18 a second, 1 min 7 s to go` */
  readonly underWay: readonly string[];
  readonly changes: readonly ChangeLine[];
  /** Where the next page begins; null where this is the last. */
  readonly next: string | null;
}

/** @param after - where the page begins; null for the first */
export async function readChangeList(
  db: Queryable,
  {accounts, wanted, after}: {accounts: readonly Account[]; wanted: Wanted; after: string | null},
): Promise<ChangeList> {
  const found = await browseChanges(db, wanted, {after, limit: pageSize + 1});
  const page = found.slice(0, pageSize);
  const around = await readCircumstances(db, page, accounts);
  const changes = page.map((change) => {
    const circumstances = around.get(change.changeId);
    const next = circumstances === undefined ? null : tellNext(change, circumstances);
    return tellLine(change, next?.text ?? null);
  });
  const next = found.length > pageSize ? (page.at(-1)?.place ?? null) : null;
  const counts = await readCounts(db, wanted.accountIds);
  return {wanted, counts, underWay: await readMoving(db, accounts), changes, next};
}

async function readMoving(db: Queryable, accounts: readonly Account[]): Promise<string[]> {
  const moving = await countMovingChanges(
    db,
    accounts.map(({accountId}) => accountId),
  );
  return moving.map((each) => {
    const account = accounts.find(({accountId}) => accountId === each.accountId);
    return describeChanges({...each, accountName: account?.name ?? each.accountId}).text;
  });
}

async function readCounts(db: Queryable, accountIds: readonly string[]): Promise<ChangeCounts> {
  const counted = await countChanges(db, accountIds);
  const late = await listLateChanges(db, accountIds);
  const open = openStates.map((state) => ({
    state,
    count: sum(counted.filter((each) => each.state === state)),
  }));
  const held = open.filter(({state}) => state === 'held');
  return {
    needy: sum(late.filter(({lateness}) => lateness !== 'held')) + sum(held),
    open,
    settled: await countLatestSettled(db, accountIds, mostSettled),
  };
}

function sum(counts: readonly {readonly count: number}[]): number {
  return counts.reduce((total, {count}) => total + count, 0);
}

function tellLine(change: Change, next: string | null): ChangeLine {
  const {
    changeId,
    accountId,
    state,
    requestedAt,
    requestedBy,
    application,
    batch,
    waitsFor,
    fields,
  } = change;
  return {
    ...{changeId, accountId, state, requestedAt, requestedBy, application, batch, waitsFor},
    what: nameChange(change),
    fields: Object.keys(fields),
    outcome: nameOutcome(change),
    why: tellWhy(change),
    next,
  };
}
