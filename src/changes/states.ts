// The states of a change and its transitions: which state follows which, and why. Also counts the
// changes in each state, and finds those that have waited too long, by the database's clock.
// sync.change_transitions holds the transitions, and a trigger of sync.changes refuses any other
// step, to a worker, a function in SQL and the owner alike.

import type pg from 'pg';
import type {Queryable} from '../postgres/database.ts';

/** The states of an open change; the column `is_open` of sync.changes is made from this list. */
export const openStates = ['held', 'pending', 'sending', 'in_doubt', 'conflict'] as const;

export const settledStates = ['done', 'rejected', 'cancelled'] as const;
export const changeStates = [...openStates, ...settledStates] as const;

export type OpenState = (typeof openStates)[number];

export type SettledState = (typeof settledStates)[number];

export type ChangeState = (typeof changeStates)[number];

/**
 * The states by which changes are selected. `altered`: done, though the service holds something
 * else; `needy`: it needs a person.
 */
export const selectableStates = ['needy', ...changeStates, 'altered'] as const;
export type SelectableState = (typeof selectableStates)[number];

/** How a writing request ends; `not-sent`: nothing was written. */
export const attemptOutcomes = ['done', 'refused', 'not-sent', 'in-doubt'] as const;

/** The most characters in the name of a transaction. */
export const longestBatch = 200;

export function nameState(state: ChangeState): string {
  return state.replace('_', ' ');
}

interface Transition {
  /** `new` is a change that is being made. */
  readonly from: ChangeState | 'new';
  readonly to: ChangeState;
  readonly why: string;
}

export const transitions: readonly Transition[] = [
  {from: 'new', to: 'pending', why: 'a row was written'},
  {
    from: 'new',
    to: 'held',
    why: 'a row was written with fieldmirror.mode = hold, or deleted by whose deletes are held',
  },
  {from: 'held', to: 'pending', why: 'it is released, or what it was held for is accepted'},
  {from: 'held', to: 'cancelled', why: 'it is given up, or changed back'},
  {
    from: 'pending',
    to: 'held',
    why: 'a person holds it, its kind of value is stopped, or its transaction is large',
  },
  {from: 'pending', to: 'sending', why: 'its request is about to go out'},
  {
    from: 'pending',
    to: 'conflict',
    why: 'both sides changed a field, or its record no longer exists',
  },
  {from: 'pending', to: 'done', why: 'the service holds it already'},
  {from: 'pending', to: 'rejected', why: 'it cannot be sent as it is'},
  {from: 'pending', to: 'cancelled', why: 'it is given up, or changed back'},
  {from: 'sending', to: 'pending', why: 'nothing was written for certain'},
  {from: 'sending', to: 'in_doubt', why: 'no answer came, or its worker was lost'},
  {
    from: 'sending',
    to: 'conflict',
    why: 'its record no longer exists, or is that of another change',
  },
  {from: 'sending', to: 'done', why: 'the service has written it'},
  {from: 'sending', to: 'rejected', why: 'the service refuses it'},
  {from: 'in_doubt', to: 'pending', why: 'it never arrived'},
  {from: 'in_doubt', to: 'sending', why: 'an update or a delete is sent again'},
  {from: 'in_doubt', to: 'conflict', why: 'only a person can tell what became of it'},
  {from: 'in_doubt', to: 'done', why: 'a reading shows that it was written'},
  {from: 'conflict', to: 'pending', why: 'a person lets it be sent'},
  {from: 'conflict', to: 'in_doubt', why: 'a person says which record it became'},
  {from: 'conflict', to: 'cancelled', why: 'it is given up'},
  {from: 'rejected', to: 'pending', why: 'a person tries it again'},
  {from: 'rejected', to: 'cancelled', why: 'it is given up'},
];

/** Brings sync.change_transitions in line with `transitions`. */
export async function applyTransitions(client: pg.ClientBase): Promise<void> {
  const rows = transitions.map(({from, to, why}) => ({from_state: from, to_state: to, why}));
  await replaceRows(client, 'sync.change_transitions', rows);
}

/**
 * Brings a table in line with the code: its rows are these and no others. @param rows - values by
 * column
 */
export async function replaceRows(
  client: pg.ClientBase,
  table: 'sync.captured_tables' | 'sync.change_transitions',
  rows: readonly object[],
): Promise<void> {
  await client.query(`DELETE FROM ${table}`);
  await client.query(
    `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
    [JSON.stringify(rows)],
  );
}

/** The changes of one account in one state. */
export interface ChangeCount {
  readonly accountId: string;
  readonly state: OpenState;
  readonly count: number;
  /** When the oldest of them was made: ISO 8601 in UTC. */
  readonly oldestAt: string;
}

/** Why changes are not settled automatically. */
export type Lateness =
  | 'untaken'
  | 'failing'
  | 'in-doubt'
  | 'conflict'
  | 'altered'
  | 'rejected'
  | 'held';

/** Changes of one account that need a person, for one reason; many of one batch are together. */
export interface LateChanges {
  readonly accountId: string;
  readonly lateness: Lateness;
  readonly count: number;
  /** Number of the oldest. */
  readonly changeId: string;
  readonly since: string;
  readonly reason: string | null;
  /** The batch of all of them; null if they have none, or each is reported separately. */
  readonly batch: string | null;
}

/** The age at which a change is late. A conflict is late at once. */
const untakenAfter = "interval '15 minutes'";

const inDoubtAfter = "interval '1 hour'";

const heldAfter = "interval '7 days'";
/** A refusal is reported for this long; longer if another change waits for the refused one. */
const rejectedFor = "interval '7 days'";
/**
 * A value that the service altered is reported for this long; longer if further changes are held
 * for it.
 */
const alteredFor = "interval '7 days'";

/** More changes are one entry: a person who gets a hundred opens the list. */
const entryLimit = 100;

/** From this many on, late changes of one batch are one entry: an import went wrong. */
const manyOfBatch = 5;
/** How many batches of an account are reported by their names, the largest first. */
const mostBatches = 20;

/** The most urgent first. */
export const latenesses: readonly Lateness[] = [
  'conflict',
  'altered',
  'rejected',
  'in-doubt',
  'failing',
  'untaken',
  'held',
];

const isActive = `
  EXISTS (SELECT FROM sync.accounts AS account
           WHERE account.account_id = change.account_id AND account.state = 'active')`;

const isBlocked = `
  EXISTS (SELECT FROM sync.changes AS blocker
           WHERE blocker.change_id = change.waits_for
             AND blocker.state NOT IN ('done', 'cancelled'))`;

const isWaitedFor =
  'EXISTS (SELECT FROM sync.changes AS waiting WHERE waiting.waits_for = change.change_id)';

const isOvertaken = `
  EXISTS (SELECT FROM sync.changes AS later
           WHERE later.row_id = change.row_id AND later.table_name = change.table_name
             AND later.change_id > change.change_id)`;

/** Late changes: change_id, account_id, reason, lateness, since. $1: the accounts. */
export const lateChangesSql = `
       SELECT change_id, account_id, reason,
              CASE WHEN state IN ('pending', 'sending')
                     THEN CASE WHEN failures > 0 THEN 'failing' ELSE 'untaken' END
                   WHEN state = 'in_doubt' THEN 'in-doubt' ELSE state END AS lateness,
              CASE state WHEN 'in_doubt' THEN sent_at
                         WHEN 'sending' THEN lease_until ELSE requested_at END AS since
         FROM sync.changes AS change
        WHERE account_id = ANY ($1) AND is_open AND CASE state
              WHEN 'conflict' THEN true
              WHEN 'held' THEN is_large IS NOT NULL OR requested_at < now() - ${heldAfter}
              WHEN 'in_doubt' THEN sent_at < now() - ${inDoubtAfter} AND ${isActive}
              WHEN 'sending' THEN lease_until < now() - ${untakenAfter} AND ${isActive}
              WHEN 'pending'
              THEN CASE WHEN failures > 0 THEN requested_at ELSE due_at END
                     < now() - ${untakenAfter} AND ${isActive} AND NOT ${isBlocked} END
        UNION ALL
       SELECT change_id, account_id, reason, 'rejected', settled_at
         FROM sync.changes AS change
        WHERE account_id = ANY ($1) AND state = 'rejected'
          AND (settled_at > now() - ${rejectedFor} OR ${isWaitedFor}) AND NOT ${isOvertaken}
        UNION ALL
       SELECT change_id, account_id, string_agg(field, ', ')
              || CASE WHEN bool_or(is_stop)
                      THEN '; further changes of ' || string_agg(kind, ', ') || ' are held'
                      ELSE '' END,
              'altered', min(found_at)
         FROM sync.alterations
        WHERE account_id = ANY ($1) AND accepted_at IS NULL
          AND (is_stop OR found_at > now() - ${alteredFor})
        GROUP BY change_id, account_id`;

/**
 * SQL for `told`: late changes, each with the batch that it is reported with, or null. $1: the
 * accounts.
 * @param isReported - SQL: whether a batch stays together although few of it are left
 */
function buildBatchesSql(isReported: string): string {
  return `late AS (${lateChangesSql}), named AS MATERIALIZED (
       SELECT late.*, made.batch FROM late LEFT JOIN sync.changes AS made USING (change_id)),
     batches AS (
       SELECT account_id, lateness, batch,
              row_number() OVER (PARTITION BY account_id, lateness
                                     ORDER BY bool_or(is_told) DESC, count(*) DESC, batch) AS place
         FROM (SELECT named.*, ${isReported} AS is_told FROM named WHERE batch IS NOT NULL) AS each
        GROUP BY account_id, lateness, batch HAVING count(*) >= ${manyOfBatch} OR bool_or(is_told)),
     told AS (
       SELECT named.change_id, named.account_id, named.lateness, named.since, named.reason,
              batches.batch
         FROM named LEFT JOIN batches ON batches.account_id = named.account_id
                                     AND batches.lateness = named.lateness
                                     AND batches.batch = named.batch AND place <= ${mostBatches})`;
}

/** If a batch was reported, its last changes are not reported one by one. */
const hasAlert = `EXISTS (
  SELECT FROM sync.alerts AS alert WHERE alert.account_id = named.account_id
    AND alert.cause = 'change-' || named.lateness
     AND alert.subject = 'batch ' || named.batch AND alert.resolved_at IS NULL)`;

/** Counts the open changes, by account and state. */
export async function countChanges(
  db: Queryable,
  accountIds: readonly string[],
): Promise<ChangeCount[]> {
  const {rows} = await db.query<ChangeCount>(
    `SELECT account_id AS "accountId", state, count(*)::integer AS count,
            min(requested_at) AS "oldestAt"
       FROM sync.changes
      WHERE account_id = ANY ($1) AND is_open
      GROUP BY account_id, state
      ORDER BY account_id,
               array_position(ARRAY['conflict', 'in_doubt', 'sending', 'pending', 'held'], state)`,
    [accountIds],
  );
  return rows;
}

/**
 * Finds the changes that need a person, the most urgent first:
 * - a conflict;
 * - a refusal of the last seven days, or an older one if another change waits for it, unless there
 *   is a later change of the same record;
 * - an alteration of the last seven days, or an older one if other changes are held for it, until
 *   it is accepted;
 * - a change that was sent more than an hour ago and is still in doubt;
 * - a change that has been due for 15 minutes and was not claimed, or has failed repeatedly for as
 *   long;
 * - a change that has been held for more than seven days.
 * A waiting change is reported under the change that blocks it. If an account is not active, its
 * changes are not claimed: that is a matter of the account. Many changes of one batch are one
 * entry, which names it.
 */
export async function listLateChanges(
  db: Queryable,
  accountIds: readonly string[],
): Promise<LateChanges[]> {
  const {rows} = await db.query<LateChanges>(
    `WITH ${buildBatchesSql('false')}
     SELECT DISTINCT ON (account_id, lateness, batch) account_id AS "accountId", lateness,
            (count(*) OVER of_a_kind)::integer AS count, change_id AS "changeId", since, reason,
            batch
       FROM told
     WINDOW of_a_kind AS (PARTITION BY account_id, lateness, batch)
      ORDER BY account_id, lateness, batch, since, change_id`,
    [accountIds],
  );
  return rows.toSorted(
    (one, other) => latenesses.indexOf(one.lateness) - latenesses.indexOf(other.lateness),
  );
}

/** One late change; or many of one batch; or all that are left, if there are very many. */
export interface LateChange extends LateChanges {
  /** Number of the change; `batch` and its name; `more` for those that are left. */
  readonly subject: string;
}

/**
 * Lists the same changes one by one, the oldest of each account and reason. Those beyond the
 * hundredth are one entry, and so are many of one batch.
 */
export async function listLateChangesSingly(
  db: Queryable,
  accountIds: readonly string[],
): Promise<LateChange[]> {
  const {rows} = await db.query<LateChange>(
    `WITH ${buildBatchesSql(hasAlert)}, ranked AS (
       SELECT told.*, row_number() OVER (of_a_kind ORDER BY since, change_id) AS rank,
              count(*) OVER of_a_kind AS total
         FROM told WINDOW of_a_kind AS (PARTITION BY account_id, lateness, batch))
     SELECT account_id AS "accountId", lateness,
            CASE WHEN batch IS NOT NULL THEN total
                 WHEN rank > ${entryLimit} THEN total - ${entryLimit} ELSE 1 END::integer AS count,
            change_id AS "changeId", since, reason, batch,
            CASE WHEN batch IS NOT NULL THEN 'batch ' || batch
                 WHEN rank > ${entryLimit} THEN 'more' ELSE change_id::text END AS subject
       FROM ranked WHERE rank <= CASE WHEN batch IS NULL THEN ${entryLimit} + 1 ELSE 1 END
      ORDER BY account_id, lateness, batch NULLS FIRST, rank`,
    [accountIds],
  );
  return rows;
}

/** Changes of an account that proceed automatically. */
export interface MovingChanges {
  readonly accountId: string;
  /** Pending, being sent, or in doubt. */
  readonly left: number;
  /** Settled within the last minute; those that were given up are not among them. */
  readonly settledLastMinute: number;
}

/**
 * Counts the changes that proceed automatically, by account; an account without any is left out.
 */
export async function countMovingChanges(
  db: Queryable,
  accountIds: readonly string[],
): Promise<MovingChanges[]> {
  const {rows} = await db.query<MovingChanges>(
    `SELECT account_id AS "accountId", count(*)::integer AS "left",
            (SELECT count(*)::integer FROM sync.changes AS settled
              WHERE settled.account_id = moving.account_id
                AND settled.settled_at > now() - interval '1 minute'
                AND settled.state <> 'cancelled') AS "settledLastMinute"
       FROM sync.changes AS moving
       JOIN sync.accounts AS account USING (account_id)
      WHERE account_id = ANY ($1) AND is_open AND account.state = 'active'
        AND moving.state IN ('pending', 'sending', 'in_doubt')
      GROUP BY account_id ORDER BY account_id`,
    [accountIds],
  );
  return rows;
}
