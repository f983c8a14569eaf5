// Facts that tell how far the warehouse can be trusted, for every account at once. The caller works
// out ages against `now`: the clock of the database, by which everything here was written.

import {readNow} from '../postgres/checks.ts';
import type {Queryable} from '../postgres/database.ts';
import {isLatestOpinion, type Sweep, sweepColumns} from '../sweeps/sweep.ts';

/**
 * The full sweeps of one stream of one account, by what they prove. Instants are ISO 8601 in UTC.
 */
export interface Proof {
  readonly accountId: string;
  readonly stream: string;
  /** The last full sweep that came to an end, whichever. */
  readonly lastEnded: Sweep;
  /**
   * When the last certified sweep began: no record that lived from then on is missing or older than
   * that. Null where nothing was ever proven.
   */
  readonly provenAt: string | null;
}

/** A sweep that would mark so many rows deleted that a person must approve it. */
export interface WaitingSweep {
  readonly sweepId: string;
  readonly accountId: string;
  readonly stream: string;
  readonly endedAt: string;
  /** How many rows would go. */
  readonly rows: number;
  readonly reasons: readonly string[];
}

/** A change in what the service sends. */
export interface FieldEvent {
  readonly at: string;
  readonly accountId: string;
  readonly table: string;
  readonly field: string;
  readonly kind: 'new' | 'vanished' | 'returned' | 'retyped';
  readonly detail: string;
}

export interface Health {
  readonly now: string;
  readonly proofs: readonly Proof[];
  readonly waiting: readonly WaitingSweep[];
  /** Of the last seven days, the newest first. */
  readonly events: readonly FieldEvent[];
}

/** Reads what is known of some accounts, in one look at the clock. */
export async function readHealth(db: Queryable, accountIds: readonly string[]): Promise<Health> {
  return {
    now: await readNow(db),
    proofs: await listProofs(db, accountIds),
    waiting: await listWaiting(db, accountIds),
    events: await listEvents(db, accountIds),
  };
}

async function listProofs(db: Queryable, accountIds: readonly string[]): Promise<Proof[]> {
  const {rows} = await db.query<Sweep & {provenAt: string | null}>(
    `SELECT DISTINCT ON (account_id, stream) ${sweepColumns},
            max(started_at) FILTER (WHERE state = 'certified') OVER (PARTITION BY account_id, stream) AS "provenAt"
       FROM sync.sweeps
      WHERE account_id = ANY ($1) AND mode = 'full' AND ended_at IS NOT NULL
      ORDER BY account_id, stream, sweep_id DESC`,
    [accountIds],
  );
  return rows.map(({provenAt, ...lastEnded}) => ({
    accountId: lastEnded.accountId,
    stream: lastEnded.stream,
    lastEnded,
    provenAt,
  }));
}

/**
 * A later sweep that has come to its end knows better: the earlier one cannot be approved any more.
 */
async function listWaiting(db: Queryable, accountIds: readonly string[]): Promise<WaitingSweep[]> {
  const {rows} = await db.query<WaitingSweep>(
    `SELECT sweep_id AS "sweepId", account_id AS "accountId", stream, ended_at AS "endedAt", reasons,
            (SELECT count(*)::integer FROM sync.tombstones AS tombstone
              WHERE tombstone.sweep_id = stopped.sweep_id AND tombstone.written_at IS NULL) AS rows
       FROM sync.sweeps AS stopped
      WHERE account_id = ANY ($1) AND state = 'stopped'
        AND ${isLatestOpinion('stopped')}
      ORDER BY account_id, sweep_id`,
    [accountIds],
  );
  return rows;
}

async function listEvents(db: Queryable, accountIds: readonly string[]): Promise<FieldEvent[]> {
  const {rows} = await db.query<FieldEvent>(
    `SELECT at, account_id AS "accountId", table_name AS table, field, kind, detail
       FROM sync.field_events WHERE account_id = ANY ($1) AND at > now() - interval '7 days'
      ORDER BY at DESC, event_id DESC`,
    [accountIds],
  );
  return rows;
}
