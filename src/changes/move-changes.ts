// The steps of a change. Each is one statement or a part of the caller's transaction, and needs a
// claim that holds. The steps follow the transitions in states.ts; the database refuses any other.
// The warehouse row is locked before its changes, here as in the triggers, so that there is no
// deadlock. A step also stores the fields that were changed on both sides since they last agreed.
// It stores the values that came back from the service with another meaning than they were sent
// with, and the changes held for them.

import type pg from 'pg';
import {RetryableError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {ChangeResult, ChangeValues} from '../rows/change-values.ts';
import {type Change, groupByChange} from './change.ts';
import {type ChangeClaim, endDoubted} from './claim-changes.ts';
import type {ChangeState} from './states.ts';
import type {alterations, attempts, conflicts} from './tables.ts';

/** A writing request, as it is kept: secrets masked. */
type SentRequest = ReadRow<typeof attempts.$inferSelect, 'method' | 'path' | 'request'>;

/** How a writing request ended. */
export interface AttemptEnd extends ReadRow<typeof attempts.$inferSelect, 'status' | 'answer'> {
  readonly outcome: NonNullable<(typeof attempts.$inferSelect)['outcome']>;
}

/** The change's fields after conflict rules, and their base from then on. */
export interface Narrowed {
  readonly fields: ChangeValues;
  readonly base: ChangeValues;
}

/** A request that is about to be sent. */
export interface Sending extends SentRequest {
  readonly claim: ChangeClaim;
  /**
   * When the record that the request is based on was requested, by the database's clock; null if
   * none was read.
   */
  readonly readAt: string | null;
  readonly narrowed: Narrowed | null;
  readonly conflicts: readonly SavedConflict[];
  /** Kinds of the values that the request contains: it is not sent while one of them is stopped. */
  readonly kinds: readonly string[];
}

/** The attempt that was stored for a request. */
export interface Begun {
  readonly attemptId: string;
  /** By the database's clock. */
  readonly startedAt: string;
}

/**
 * Stores that requests are about to be sent; commit before the first byte of any of them.
 * @returns for each its attempt; null if the claim is lost, the account is paused, or the change
 *   contains a kind of value that was stopped
 * @throws a violation of `onItsWay`: a create with the same content is already in progress
 */
export async function beginSending(
  client: pg.ClientBase,
  sendings: readonly Sending[],
): Promise<(Begun | null)[]> {
  const requests = sendings.map(({claim, readAt, narrowed, method, path, request, kinds}) => {
    const {changeId, fence} = claim;
    return {
      change_id: changeId,
      fence,
      method,
      path,
      request,
      read_at: readAt,
      fields: narrowed?.fields,
      base: narrowed?.base,
      kinds,
    };
  });
  const {rows} = await client.query<Begun & ChangeClaim>(
    `WITH wanted AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS wanted (
         change_id bigint, fence integer, method text, path text, request text, read_at timestamptz,
         fields jsonb, base jsonb, kinds text[])
     ), begun AS (
       UPDATE sync.changes AS held
          SET state = 'sending', sent_at = clock_timestamp(), sends = sends + 1, checks = 0,
              reason = NULL,
              fields = coalesce(wanted.fields, held.fields),
              base = held.base || coalesce(wanted.base, '{}'),
              seen = CASE WHEN wanted.base IS NULL THEN held.seen END
         FROM wanted
        WHERE held.change_id = wanted.change_id AND held.fence = wanted.fence
          AND state IN ('pending',
                        CASE held.operation WHEN 'create' THEN 'pending' ELSE 'in_doubt' END)
          AND lease_until > clock_timestamp()
          AND EXISTS (SELECT FROM sync.accounts AS account
                       WHERE account.account_id = held.account_id AND account.state = 'active')
          AND NOT EXISTS (SELECT FROM sync.alterations AS stop
                           WHERE stop.account_id = held.account_id AND is_stop
                             AND stop.kind = ANY (wanted.kinds))
    RETURNING held.change_id, held.fence, method, path, request, read_at)
     INSERT INTO sync.attempts (change_id, fence, method, path, request, read_at)
     SELECT * FROM begun
  RETURNING change_id AS "changeId", fence, attempt_id AS "attemptId", started_at AS "startedAt"`,
    [JSON.stringify(requests)],
  );
  // After a sleep a process may have lost a change to itself: both of its claims are here, and the
  // fence refuses one.
  const begunByClaim = new Map(rows.map((row) => [nameClaim(row), row]));
  for (const {claim, conflicts} of sendings)
    if (begunByClaim.has(nameClaim(claim))) await saveConflicts(client, claim, conflicts);
  return sendings.map(({claim}) => begunByClaim.get(nameClaim(claim)) ?? null);
}

/** The constraint that keeps a second create with the same content from being sent. */
export const onItsWay = 'changes_create_on_its_way_key';

/** The constraint that keeps two creates from being one record. */
export const oneCreate = 'changes_created_key';

/** Stores how the request ended. */
export async function endAttempt(db: Queryable, attemptId: string, end: AttemptEnd): Promise<void> {
  await db.query(
    `UPDATE sync.attempts SET ended_at = clock_timestamp(), outcome = $2, status = $3, answer = $4
      WHERE attempt_id = $1`,
    [attemptId, end.outcome, end.status, end.answer],
  );
}

/**
 * Gives a change back, to be sent after a while. The service certainly wrote nothing of it, so it
 * counts as not sent. If an earlier request may still arrive, the change stays in doubt.
 */
export async function postponeChange(
  db: Queryable,
  claim: ChangeClaim,
  delay: {readonly delayMs: number; readonly isFailure: boolean; readonly reason: string | null},
): Promise<void> {
  const {rowCount} = await db.query(
    `UPDATE sync.changes
        SET state = CASE WHEN state = 'sending' AND operation <> 'create' AND sends > 1
                         THEN 'in_doubt' ELSE 'pending' END,
            lease_until = NULL, reason = $5, sends = sends - (state = 'sending')::integer,
            due_at = now() + $3 * interval '1 millisecond',
            failures = failures + $4::boolean::integer
      WHERE change_id = $1 AND fence = $2 AND state IN ('pending', 'sending')`,
    [claim.changeId, claim.fence, delay.delayMs, delay.isFailure, delay.reason],
  );
  if (rowCount !== 1) throw createLostError(claim);
}

/**
 * Gives a change back at any step; a change that was being sent is in doubt.
 * @returns its state now
 */
export async function giveBackChange(
  db: Queryable,
  claim: ChangeClaim,
  delay: {readonly delayMs: number; readonly isFailure: boolean; readonly reason: string | null},
): Promise<ChangeState> {
  const {rows} = await db.query<{state: ChangeState}>(
    `WITH given AS (
       UPDATE sync.changes
          SET state = CASE state WHEN 'sending' THEN 'in_doubt' ELSE state END, lease_until = NULL,
              due_at = now() + $3 * interval '1 millisecond',
              failures = failures + $4::boolean::integer,
              reason = CASE state WHEN 'in_doubt' THEN reason
                                  WHEN 'sending' THEN coalesce($5, 'cut off') ELSE $5 END
        WHERE change_id = $1 AND fence = $2 AND state IN ('pending', 'sending', 'in_doubt')
    RETURNING change_id, state, reason), doubted AS (
       SELECT change_id, reason FROM given WHERE state = 'in_doubt'), ended AS (${endDoubted})
     SELECT state FROM given`,
    [claim.changeId, claim.fence, delay.delayMs, delay.isFailure, delay.reason],
  );
  const [row] = rows;
  if (row === undefined) throw createLostError(claim);
  return row.state;
}

/**
 * Puts a change in doubt: its request may or may not have arrived, and is looked for after a while.
 */
export async function doubtChange(
  db: Queryable,
  claim: ChangeClaim,
  doubt: {
    readonly reason: string;
    readonly delayMs: number;
    readonly number?: string | null;
    readonly isCheck?: boolean;
  },
): Promise<void> {
  const {rowCount} = await db.query(
    `UPDATE sync.changes SET state = 'in_doubt', lease_until = NULL, reason = $3,
            number = coalesce(number, $5),
            due_at = now() + $4 * interval '1 millisecond', checks = checks + $6::boolean::integer
      WHERE change_id = $1 AND fence = $2 AND state IN ('sending', 'in_doubt')`,
    [
      claim.changeId,
      claim.fence,
      doubt.reason,
      doubt.delayMs,
      doubt.number ?? null,
      doubt.isCheck === true,
    ],
  );
  if (rowCount !== 1) throw createLostError(claim);
}

/** Makes a change ready to be sent once more: a look has shown that its request never arrived. */
export async function resendChange(
  db: Queryable,
  claim: ChangeClaim,
  reason: string,
): Promise<void> {
  const {rowCount} = await db.query(
    `UPDATE sync.changes SET state = 'pending', lease_until = NULL, reason = $3, due_at = now()
      WHERE change_id = $1 AND fence = $2 AND state = 'in_doubt'`,
    [claim.changeId, claim.fence, reason],
  );
  if (rowCount !== 1) throw createLostError(claim);
}

/** Leaves a change to a person. */
export async function leaveToPerson(
  client: pg.ClientBase,
  claim: ChangeClaim,
  details: {
    readonly reason: string;
    readonly conflicts?: readonly SavedConflict[];
    readonly result?: ChangeResult | null;
  },
): Promise<void> {
  const {rowCount} = await client.query(
    `UPDATE sync.changes SET state = 'conflict', lease_until = NULL, reason = $3,
            result = coalesce($4::jsonb, result)
      WHERE change_id = $1 AND fence = $2 AND state IN ('pending', 'sending', 'in_doubt')`,
    [claim.changeId, claim.fence, details.reason, details.result ?? null],
  );
  if (rowCount !== 1) throw createLostError(claim);
  await saveConflicts(client, claim, details.conflicts ?? []);
}

/** A change that is done. */
export interface FinishedClaim {
  readonly change: Change;
  readonly number: string;
  readonly result: ChangeResult | null;
  /** The service's values now, as far as they are known. */
  readonly remote: ChangeValues;
  /** The request that did it, if its end is still to be stored; else null. */
  readonly attempt: {readonly attemptId: string; readonly end: AttemptEnd} | null;
}

/**
 * Finishes changes: they are done. Changes that waited for them can be sent. Later changes of the
 * same records get the finished fields' values at the service as their base. For other fields they
 * keep their base, because the service may have changed those meanwhile. The caller holds the locks
 * of the rows, and loads the service's record after this.
 * @throws {RetryableError} one of the claims is lost: roll all of it back
 */
export async function finishChanges(
  client: pg.ClientBase,
  finished: readonly FinishedClaim[],
): Promise<void> {
  const entries = finished.map(({change, number, result, remote, attempt}) => {
    const {changeId, fence, rowId, table} = change;
    const {attemptId, end} = attempt ?? {};
    return {
      change_id: changeId,
      fence,
      row_id: rowId,
      table_name: table,
      number,
      result,
      remote,
      attempt_id: attemptId,
      ...end,
    };
  });
  const {rowCount} = await client.query(
    `UPDATE sync.changes AS held
        SET state = 'done', lease_until = NULL, reason = NULL, number = ended.number,
            result = ended.result, settled_at = now()
       FROM jsonb_to_recordset($1::jsonb) AS ended (change_id bigint, fence integer, number bigint,
                                                     result jsonb)
      WHERE held.change_id = ended.change_id AND held.fence = ended.fence
        AND state IN ('pending', 'sending', 'in_doubt')`,
    [JSON.stringify(entries)],
  );
  const [first] = finished;
  if (rowCount !== finished.length && first !== undefined) throw createLostError(first.change);
  await client.query(
    `WITH ended AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS ended (
         change_id bigint, row_id bigint, table_name text, number bigint, remote jsonb,
         attempt_id bigint, outcome text,
         status integer, answer text)
     ), noted AS (
       UPDATE sync.attempts AS held SET ended_at = clock_timestamp(), outcome = ended.outcome,
              status = ended.status, answer = ended.answer
         FROM ended WHERE held.attempt_id = ended.attempt_id
     ), rebased AS (
       UPDATE sync.changes AS later
          SET number = ended.number, waits_for = nullif(later.waits_for, ended.change_id),
              base = later.base || (
                SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(ended.remote)
                 WHERE later.base ? key
                   AND (finished.operation = 'create' OR finished.fields ? key))
         FROM ended JOIN sync.changes AS finished USING (change_id)
        WHERE later.row_id = ended.row_id AND later.table_name = ended.table_name
          AND later.change_id > ended.change_id
          AND later.is_open
    RETURNING later.change_id)
     UPDATE sync.changes SET waits_for = NULL
      WHERE waits_for = ANY ($2::bigint[]) AND change_id NOT IN (SELECT change_id FROM rebased)`,
    [JSON.stringify(entries), finished.map(({change}) => change.changeId)],
  );
}

/** Ends a change that the service refused, with its words; the row gets its earlier values back. */
export async function rejectChange(
  client: pg.ClientBase,
  change: Change,
  message: string,
): Promise<void> {
  const {rowCount} = await client.query(
    `SELECT FROM sync.changes WHERE change_id = $1 AND fence = $2
       AND state IN ('pending', 'sending') FOR UPDATE`,
    [change.changeId, change.fence],
  );
  if (rowCount !== 1) throw createLostError(change);
  await client.query('SELECT sync.close_change($1, $2, $3)', [
    change.changeId,
    'rejected',
    message,
  ]);
}

function nameClaim({changeId, fence}: ChangeClaim): string {
  return `${changeId} ${fence}`;
}

function createLostError({changeId, fence}: ChangeClaim): RetryableError {
  return new RetryableError(
    `change ${changeId}: expected fence ${fence}, but another worker has taken it over, ` +
      'or a person has decided it',
  );
}

/** A field that both sides changed, as it is kept. `winner` is null while it is undecided. */
export type SavedConflict = ReadRow<
  typeof conflicts.$inferSelect,
  'field' | 'base_value' | 'warehouse_value' | 'service_value' | 'rule' | 'winner'
>;

/**
 * Stores both values of every field that both sides changed, in place of the conflicts still
 * undecided.
 */
export async function saveConflicts(
  client: pg.ClientBase,
  {changeId}: ChangeClaim,
  fieldConflicts: readonly SavedConflict[],
): Promise<void> {
  if (fieldConflicts.length === 0) return;
  await client.query('DELETE FROM sync.conflicts WHERE change_id = $1 AND winner IS NULL', [
    changeId,
  ]);
  await client.query(
    `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value, rule,
                                 winner, decided_at, decided_by)
     SELECT $1, conflict->>'field', conflict->'baseValue', conflict->'warehouseValue',
            conflict->'serviceValue', conflict->>'rule',
            conflict->>'winner', CASE WHEN conflict->>'winner' IS NOT NULL THEN now() END,
            CASE WHEN conflict->>'winner' IS NOT NULL THEN 'rule ' || (conflict->>'rule') END
       FROM jsonb_array_elements($2::jsonb) AS conflict`,
    [changeId, JSON.stringify(fieldConflicts)],
  );
}

type Row = typeof alterations.$inferSelect;

/** One field of a change that the service altered. */
export type Alteration = ReadRow<
  Row,
  'change_id' | 'account_id' | 'field' | 'kind' | 'sent' | 'got'
>;

const savedColumns = [
  'field',
  'kind',
  'sent',
  'got',
  'is_stop',
  'accepted_at',
  'accepted_by',
] as const;

/** An alteration as it is kept. */
export type SavedAlteration = ReadRow<Row, (typeof savedColumns)[number]>;

/**
 * Stores alterations. They stop further changes of their kind in the account until a person has
 * checked one of that kind.
 * @returns the kinds that are stopped
 */
export async function saveAlterations(
  client: pg.ClientBase,
  newAlterations: readonly Alteration[],
): Promise<string[]> {
  if (newAlterations.length === 0) return [];
  const {rows} = await client.query<{kind: string; isStop: boolean}>(
    `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
     SELECT (altered->>'changeId')::bigint, (altered->>'accountId')::bigint, altered->>'field',
            altered->>'kind', altered->'sent', altered->'got',
            NOT EXISTS (SELECT FROM sync.alterations AS seen
                         WHERE seen.account_id = (altered->>'accountId')::bigint
                           AND seen.kind = altered->>'kind' AND accepted_at IS NOT NULL)
       FROM jsonb_array_elements($1::jsonb) AS altered
  RETURNING kind, is_stop AS "isStop"`,
    [JSON.stringify(newAlterations)],
  );
  return rows.flatMap(({kind, isStop}) => (isStop ? [kind] : []));
}

/**
 * Holds a change until a person has checked an alteration of one kind of value. If a person has
 * just checked it, the change is due again.
 */
export async function holdForKind(
  db: Queryable,
  claim: ChangeClaim & {readonly accountId: string},
  {kind, reason}: {readonly kind: string; readonly reason: string},
): Promise<void> {
  await db.query(
    `WITH stop AS (SELECT FROM sync.alterations WHERE account_id = $3 AND kind = $4 AND is_stop
                    LIMIT 1 FOR SHARE)
     UPDATE sync.changes
        SET lease_until = NULL, due_at = now(),
            state = CASE WHEN EXISTS (SELECT FROM stop) THEN 'held' ELSE 'pending' END,
            held_for = CASE WHEN EXISTS (SELECT FROM stop) THEN $4 END,
            reason = CASE WHEN EXISTS (SELECT FROM stop) THEN $5 END
      WHERE change_id = $1 AND fence = $2 AND state = 'pending'`,
    [claim.changeId, claim.fence, claim.accountId, kind, reason],
  );
}

/** The service's alterations of some changes; a change without any is absent. */
export async function readAlterations(
  db: Queryable,
  changeIds: readonly string[],
): Promise<ReadonlyMap<string, SavedAlteration[]>> {
  const {rows} = await db.query<SavedAlteration & {changeId: string}>(
    `SELECT change_id AS "changeId", ${selectColumns(savedColumns)}
       FROM sync.alterations WHERE change_id = ANY ($1) ORDER BY alteration_id`,
    [changeIds],
  );
  return groupByChange<SavedAlteration>(rows);
}
