// Changes that come to their end beside each other end in one transaction: a commit, and a statement a table, for all.

import type pg from 'pg';
import {parentColumnOf} from '../../streams/stream.ts';
import {learnEmployee} from '../../warehouse/accounts.ts';
import {type Alteration, keepAlterations} from '../../warehouse/alterations.ts';
import {
  type AssignedJob,
  giveNumber,
  lockRows,
  markDeleted,
  settleAssignments,
  stampUnassigned,
} from '../../warehouse/authored-rows.ts';
import {type KeptClash, keepClashes, type Settlement, settleChanges} from '../../warehouse/carry-changes.ts';
import {inSweepTransaction} from '../../warehouse/database.ts';
import {forgetKnown} from '../../warehouse/known-records.ts';
import {Batcher} from './batcher.ts';
import {kindOf, type Stops} from './kinds.ts';
import {type PushRun, pass} from './push-run.ts';
import type {Truth} from './truth.ts';
import {writeTruth} from './write-truth.ts';

/** A change that is done, and what is to be written of it. */
export interface Ending {
  readonly run: PushRun;
  readonly settlement: Settlement;
  /** Null where there is no record any more. */
  readonly truth: Truth | null;
  /** The record itself is gone, though that which it hung on may be there. */
  readonly isGone: boolean;
  /** By the database's clock, before the truth was asked for. */
  readonly since: string;
  readonly clashes: readonly KeptClash[];
}

export type Ends = Batcher<Ending, true>;

/** @param stops - told of the kinds of values that are stopped by what was altered */
export function endTogether(pool: pg.Pool, stops: Stops): Ends {
  return new Batcher(async (endings) => {
    const stopped = await inSweepTransaction(pool, async (client) => {
      const kinds = await writeEndings(client, endings);
      for (const {run} of endings) await pass(run, 'end-written');
      return kinds;
    });
    stops.add(stopped);
    return endings.map(() => true as const);
  });
}

/** @returns the kinds of values that are stopped by it */
async function writeEndings(client: pg.ClientBase, endings: readonly Ending[]): Promise<string[]> {
  const byTable = [...Map.groupBy(endings, ({run}) => run.writes.table)].sort(([one], [other]) =>
    one.name < other.name ? -1 : 1,
  );
  for (const [table, ofTable] of byTable)
    await lockRows(
      client,
      table,
      ofTable.map(({run}) => run.change.rowId),
    );
  await settleChanges(
    client,
    endings.map(({settlement}) => settlement),
  );
  const stopped = await keepAlterations(client, endings.flatMap(alterationsOf));
  for (const ending of endings) await writeOwn(client, ending);
  const assigned = endings.flatMap(assignedJobOf);
  await settleAssignments(client, assigned);
  const reads = endings.flatMap(({run, truth, since}) => (truth === null ? [] : [{run, truth, since}]));
  await writeTruth(client, reads);
  await stampUnassigned(client, assigned);
  for (const ending of endings) if (ending.isGone) await markRowDeleted(client, ending);
  return stopped;
}

function alterationsOf({run, settlement}: Ending): Alteration[] {
  const {changeId, accountId} = run.change;
  return Object.entries(settlement.result?.altered ?? {}).map(([field, {sent, got}]) => ({
    changeId,
    accountId,
    field,
    kind: kindOf(run, field),
    sent,
    got,
  }));
}

function assignedJobOf({run, settlement}: Ending): AssignedJob[] {
  const {changeId, accountId, rowId, operation} = run.change;
  if (run.writes.table.name !== 'jobs') return [];
  return [{changeId, accountId, rowId, number: settlement.number, isNew: operation === 'create'}];
}

/** What only this change has to say. */
async function writeOwn(client: pg.ClientBase, {run, settlement, clashes}: Ending): Promise<void> {
  const {change, writes} = run;
  await keepClashes(client, change, clashes);
  if (change.operation !== 'create') return;
  await giveNumber(client, writes.table, {...change, key: writes.key, number: settlement.number});
  const author = settlement.truth.created_by;
  if (typeof author === 'string') await learnEmployee(client, change.accountId, author);
}

/** The record is gone by our delete, and what hung on it. */
async function markRowDeleted(client: pg.ClientBase, {run, settlement}: Ending): Promise<void> {
  const {change, stream, writes} = run;
  const {accountId, changeId, rowId} = change;
  const {number} = settlement;
  const children = stream.table === writes.table ? stream.children.filter(({isOwned}) => isOwned) : [];
  const owned = children.map((child) => ({table: child.table, parentColumn: parentColumnOf(child)}));
  await markDeleted(client, writes.table, {accountId, rowId, changeId, number, owned});
  await forgetKnown(client, {accountId, stream: stream.name, numbers: [number]});
}
