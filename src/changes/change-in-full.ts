// Everything that is told of one change where there is room for it, and what a person can do about
// it.

import type {Account} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {readParentNumbers} from '../rows/held-numbers.ts';
import {allStreams, findWrites} from '../streams/all.ts';
import type {Change} from './change.ts';
import {type Decision, listDecisions} from './change-next.ts';
import {nestings} from './change-request.ts';
import {compareSides, type FieldSides, listFields} from './change-sides.ts';
import {type ChangeStory, readStory} from './change-story.ts';
import {readChangedRow} from './changed-row.ts';
import {readDecidable} from './decidable-changes.ts';
import {type Verb, verbs} from './decide-changes.ts';
import {judgeDecision} from './judge-decision.ts';

export interface ChangeInFull extends ChangeStory {
  readonly sides: readonly FieldSides[];
  /**
   * The record at the service that it belongs to: of a note its customer or job. Null while that
   * has no number.
   */
  readonly record: {readonly stream: string; readonly number: string} | null;
  /** The decisions that are open. */
  readonly verbs: readonly Exclude<Verb, 'resolve'>[];
  readonly decisions: readonly Decision[];
  /** The fields to be decided, those that move as one together. */
  readonly fought: readonly (readonly string[])[];
}

/** @returns null when these accounts have no change of that number */
export async function readChangeInFull(
  db: Queryable,
  changeId: string,
  accounts: readonly Account[],
): Promise<ChangeInFull | null> {
  const accountIds = accounts.map((account) => account.accountId);
  const [decidable] = await readDecidable(db, [changeId], accountIds);
  if (decidable === undefined) return null;
  const story = await readStory(db, changeId);
  const {change, conflicts} = story;
  const row = await readChangedRow(db, change, listFields(story));
  return {
    ...story,
    sides: compareSides({...story, row}),
    record: await findRecord(db, change),
    verbs: verbs
      .filter((verb) => verb !== 'resolve')
      .filter((verb) => judgeDecision(decidable, {verb}) === null),
    decisions:
      decidable.state === 'conflict' && !decidable.isTaken ? listDecisions(change, conflicts) : [],
    fought: groupFought(story),
  };
}

async function findRecord(db: Queryable, change: Change): Promise<ChangeInFull['record']> {
  const {stream, table} = findWrites(change.table);
  const isOwn = allStreams.some((each) => each.name === stream && each.table.name === table.name);
  const number = isOwn
    ? change.number
    : ((await readParentNumbers(db, [change.changeId], nestings)).get(change.changeId) ?? null);
  return number === null ? null : {stream, number};
}

function groupFought({change, conflicts}: ChangeStory): string[][] {
  const {writable} = findWrites(change.table).table;
  const groups = new Map<string, string[]>();
  for (const {field, winner} of conflicts) {
    if (winner !== null) continue;
    const unit = writable.find(({name}) => name === field)?.group ?? field;
    groups.set(unit, [...(groups.get(unit) ?? []), field]);
  }
  return [...groups.values()];
}
