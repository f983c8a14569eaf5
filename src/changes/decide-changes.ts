// A person's decisions about changes: functions of the warehouse carry them out, which may be
// called in SQL as well.

import type {Queryable} from '../postgres/database.ts';
import type {ChangeState} from './change-states.ts';

export const verbs = ['hold', 'release', 'retry', 'cancel', 'accept', 'resolve'] as const;
export type Verb = (typeof verbs)[number];

/** A decision about a change. */
export interface Deciding {
  readonly verb: Verb;
  /**
   * The reason of `cancel`; the decision of `resolve`: `service`, `warehouse`, `resend`, or the
   * number of a record.
   */
  readonly given?: string | null;
}

/** What a decision about one of several changes came to. */
export interface DecidedChange {
  readonly changeId: string;
  /** Null where it was refused. */
  readonly state: ChangeState | null;
  /** Why it was refused, in the words of the warehouse. */
  readonly refusal: string | null;
}

export type Side = 'service' | 'warehouse';

/**
 * Decides one change.
 * @returns its state
 * @throws {pg.DatabaseError} there is none of that number, or it is not open to this: the words say
 *   what it is now
 */
export async function decideChange(
  db: Queryable,
  changeId: string,
  {verb, given = null}: Deciding,
): Promise<ChangeState> {
  const takesMore = verb === 'cancel' || verb === 'resolve';
  return await readState(
    db,
    `SELECT sync.${verb}_change($1${takesMore ? ', $2' : ''}) AS state`,
    takesMore ? [changeId, given] : [changeId],
  );
}

/**
 * Decides a conflict field by field.
 * @param sides - for each field that both sides changed, whose value counts
 * @throws {pg.DatabaseError} the same; a field is left out, or fields that move as one are parted
 */
export async function resolveFields(
  db: Queryable,
  changeId: string,
  sides: Readonly<Record<string, Side>>,
): Promise<ChangeState> {
  return await readState(db, 'SELECT sync.resolve_fields($1, $2) AS state', [
    changeId,
    JSON.stringify(sides),
  ]);
}

/**
 * Decides many changes alike, each by itself: one that cannot be decided so holds up none of the
 * others.
 */
export async function decideChanges(
  db: Queryable,
  changeIds: readonly string[],
  {verb, given = null}: Deciding,
): Promise<DecidedChange[]> {
  const {rows} = await db.query<DecidedChange>(
    `SELECT change_id AS "changeId", state, refusal FROM sync.decide_changes($1, $2, $3)`,
    [changeIds, verb, given],
  );
  return rows;
}

async function readState(
  db: Queryable,
  call: string,
  values: readonly unknown[],
): Promise<ChangeState> {
  const {rows} = await db.query<{state: ChangeState}>(call, [...values]);
  if (rows[0] === undefined) throw new TypeError('a decision gives the state of its change');
  return rows[0].state;
}
