// The ends of a change, each within one transaction: what it wanted, what the service made of it, the rows that show it.

import type pg from 'pg';
import {lockRows} from '../../warehouse/authored-rows.ts';
import type {AttemptEnd, KeptClash} from '../../warehouse/carry-changes.ts';
import {endAttempt, leaveToPerson, rejectChange} from '../../warehouse/carry-changes.ts';
import type {ChangeResult, ChangeValues} from '../../warehouse/change.ts';
import {inSweepTransaction} from '../../warehouse/database.ts';
import {type PushEnd, type PushRun, pass} from './push-run.ts';
import {isSameValue, saysTheSame} from './same-value.ts';
import {findTrueRow, type Truth} from './truth.ts';
import {writeTruth} from './write-truth.ts';

/** A request that ended, to be noted with what came of it. */
export interface EndedAttempt {
  readonly attemptId: string;
  readonly end: AttemptEnd;
}

/** What is known of a change that is done. */
export interface Done {
  readonly number: string;
  /** Null where there is no record any more. */
  readonly truth: Truth | null;
  /** By the database's clock, before the truth was asked for. */
  readonly since: string;
  /** What was sent, to see what the service made of it. */
  readonly sent: ChangeValues;
  readonly unsent?: readonly string[];
  readonly clashes?: readonly KeptClash[];
  readonly attempt?: EndedAttempt | null;
}

/** Settles a change as done, and brings what the service holds now into the warehouse. */
export async function finishDone(run: PushRun, done: Done): Promise<PushEnd> {
  const {number, truth, since, attempt = null, clashes = []} = done;
  const row = truth === null ? null : findTrueRow(run, truth, number);
  const values = row?.values ?? {};
  const result = resultOf(run, done, values);
  const settlement = {change: run.change, number, result, truth: values, attempt};
  await run.ends.do({run, settlement, truth, isGone: row === null, since, clashes});
  await pass(run, 'end-committed');
  return 'done';
}

/** Settles a change that the service refused; the row shows again what the service holds. */
export async function finishRejected(
  run: PushRun,
  refused: {readonly words: string; readonly truth: Truth | null; readonly attempt?: EndedAttempt | null},
): Promise<PushEnd> {
  const {words, truth, attempt = null} = refused;
  await inEnd(run, attempt, async (client) => {
    await rejectChange(client, run.change, words);
    if (truth !== null) await writeTruth(client, [{run, truth, since: run.change.claimedAt}]);
  });
  return 'rejected';
}

/** Leaves a change to a person. */
export async function finishConflict(
  run: PushRun,
  found: {
    readonly reason: string;
    readonly clashes?: readonly KeptClash[];
    readonly result?: ChangeResult;
    readonly attempt?: EndedAttempt | null;
  },
): Promise<PushEnd> {
  const {attempt = null, ...left} = found;
  await inEnd(run, attempt, (client) => leaveToPerson(client, run.change, left));
  return 'conflict';
}

async function inEnd(
  run: PushRun,
  attempt: EndedAttempt | null,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const {deps, change, writes} = run;
  await inSweepTransaction(deps.pool, async (client) => {
    await lockRows(client, writes.table, [change.rowId]);
    if (attempt !== null) await endAttempt(client, attempt.attemptId, attempt.end);
    await work(client);
    await pass(run, 'end-written');
  });
  await pass(run, 'end-committed');
}

function resultOf({rules}: PushRun, {sent, unsent = []}: Done, got: ChangeValues): ChangeResult | null {
  const others = Object.entries(sent).flatMap(([field, value]) => {
    const kind = rules.get(field)?.kind ?? 'text';
    const came = got[field];
    if (came === undefined || isSameValue(kind, value, came)) return [];
    return [{field, isTidied: saysTheSame({field, kind}, value, came), values: {sent: value, got: came}}];
  });
  const pick = (isTidied: boolean) =>
    Object.fromEntries(
      others.flatMap((each) => (each.isTidied === isTidied ? [[each.field, each.values]] : [])),
    );
  const altered = pick(false);
  const tidied = pick(true);
  const result = {
    ...(Object.keys(altered).length === 0 ? {} : {altered}),
    ...(Object.keys(tidied).length === 0 ? {} : {tidied}),
    ...(unsent.length === 0 ? {} : {unsent}),
  };
  return Object.keys(result).length === 0 ? null : result;
}
