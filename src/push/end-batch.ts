// Changes that come to their end beside each other end in one transaction: a commit, and a
// statement a table, for all.

import type pg from 'pg';
import {learnEmployee} from '../accounts/accounts.ts';
import {type Alteration, keepAlterations} from '../changes/alterations.ts';
import {
  type AssignedJob,
  giveNumber,
  lockRows,
  markDeleted,
  settleAssignments,
  stampUnassigned,
} from '../changes/authored-rows.ts';
import {keepConflicts} from '../changes/conflicts.ts';
import {type FinishedClaim, finishChanges} from '../changes/move-changes.ts';
import {inSweepTransaction} from '../postgres/database.ts';
import {forgetKnown} from '../rows/known-records.ts';
import {ownedTablesOf} from '../streams/stream.ts';
import {Batcher} from './batcher.ts';
import {atStep, type ChangeContext} from './change-context.ts';
import type {Done} from './decision.ts';
import {kindOf} from './kinds.ts';
import type {StoppedKinds} from './stopped-kinds.ts';
import {writeRemote} from './write-remote.ts';

/** A change that is done, and the decision to write. */
export interface FinishedChange {
  readonly run: ChangeContext;
  readonly done: Done;
}

export type Ends = Batcher<FinishedChange, true>;

/** @param stops - told of the kinds of values that alterations have stopped */
export function endBatch(pool: pg.Pool, stops: StoppedKinds): Ends {
  return new Batcher(async (endings) => {
    const stopped = await inSweepTransaction(pool, async (client) => {
      const kinds = await writeEndings(client, endings);
      for (const {run} of endings) await atStep(run, 'end-written');
      return kinds;
    });
    stops.add(stopped);
    return endings.map(() => true as const);
  });
}

/** @returns the kinds of values that are stopped by the endings */
async function writeEndings(
  client: pg.ClientBase,
  endings: readonly FinishedChange[],
): Promise<string[]> {
  const byTable = [...Map.groupBy(endings, ({run}) => run.writes.table)].sort(([one], [other]) =>
    one.name < other.name ? -1 : 1,
  );
  for (const [table, ofTable] of byTable)
    await lockRows(
      client,
      table,
      ofTable.map(({run}) => run.change.rowId),
    );
  await finishChanges(client, endings.map(claimOf));
  const stopped = await keepAlterations(client, endings.flatMap(alterationsOf));
  for (const ending of endings) await writeOwn(client, ending);
  const assigned = endings.flatMap(assignedJobOf);
  await settleAssignments(client, assigned);
  const reads = endings.flatMap(({run, done: {remote, since}}) =>
    remote === null ? [] : [{run, remote, since}],
  );
  await writeRemote(client, reads);
  await stampUnassigned(client, assigned);
  for (const ending of endings) if (ending.done.isGone) await markRowDeleted(client, ending);
  return stopped;
}

function claimOf({run, done}: FinishedChange): FinishedClaim {
  const {number, result, values: remote, attempt} = done;
  return {change: run.change, number, result, remote, attempt};
}

function alterationsOf({run, done}: FinishedChange): Alteration[] {
  const {changeId, accountId} = run.change;
  return Object.entries(done.result?.altered ?? {}).map(([field, {sent, got}]) => ({
    changeId,
    accountId,
    field,
    kind: kindOf(run, field),
    sent,
    got,
  }));
}

/**
 * The job of a change that assigns employees. A created job takes those that it had here. A rule
 * may have taken the employees out of a change's fields: its base still tells of them.
 */
function assignedJobOf({run, done}: FinishedChange): AssignedJob[] {
  const {changeId, accountId, rowId, operation, fields, base} = run.change;
  const isNew = operation === 'create';
  const isAssigning = isNew || 'employee_ids' in fields || 'employee_ids' in base;
  if (run.writes.table.name !== 'jobs' || !isAssigning) return [];
  return [{changeId, accountId, rowId, number: done.number, isNew}];
}

/** Writes the change's own part: its conflicts, and the number and author of a created record. */
async function writeOwn(client: pg.ClientBase, {run, done}: FinishedChange): Promise<void> {
  const {change, writes} = run;
  await keepConflicts(client, change, done.conflicts);
  if (change.operation !== 'create') return;
  await giveNumber(client, writes.table, {...change, key: writes.key, number: done.number});
  const author = done.values.created_by;
  if (typeof author === 'string') await learnEmployee(client, change.accountId, author);
}

/** Marks deleted the record that our delete removed, and its owned children. */
async function markRowDeleted(client: pg.ClientBase, {run, done}: FinishedChange): Promise<void> {
  const {change, stream, writes} = run;
  const {accountId, changeId, rowId} = change;
  const {number} = done;
  const owned = stream.table === writes.table ? ownedTablesOf(stream) : [];
  await markDeleted(client, writes.table, {accountId, rowId, changeId, number, owned});
  await forgetKnown(client, {accountId, stream: stream.name, numbers: [number]});
}
