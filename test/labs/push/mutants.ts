// Ways to break the product from outside, each of which the checker must notice.

import type pg from 'pg';

export interface Mutant {
  readonly name: string;
  /** The checker's verdict that it must get. */
  readonly found: RegExp;
  /** Shows itself where many changes follow each other, and nothing else happens. */
  readonly isForHurry?: boolean;
  /** Rewrites a statement of the product. */
  readonly rewrite?: (sql: string) => string;
  /** Done to the database before anything. */
  readonly prepare?: (pool: pg.Pool) => Promise<void>;
  /**
   * Skips the look at the lease when a request's turn comes: for its workers no time has passed.
   */
  readonly isTimeless?: boolean;
  /** Done to the database between rounds. */
  readonly meddle?: (pool: pg.Pool) => Promise<void>;
}

const meddle = (sql: string) => async (pool: pg.Pool) => {
  await pool.query(sql);
};

/** Lets a mutant do what the database itself would refuse: here the checker must notice. */
const letAnyState = meddle('ALTER TABLE sync.changes DISABLE TRIGGER check_update');

/** As those statements check it: the state of a change, and the lease on it. */
const stateAndLease = /state (?:= '\w+'|IN \([^)]*\))(?:\s+AND lease_until > clock_timestamp\(\))?/;

/**
 * A worker that lost a change goes on with it: no fence, state or lease is checked. Of a create
 * that would be sent a third time the database still says no: then it is stuck, and counts as lost.
 */
const noFence: Mutant = {
  name: 'no fence',
  prepare: letAnyState,
  found: /: (duplicated|lost): /,
  rewrite: (sql) =>
    sql
      .replaceAll(
        new RegExp(`change_id = \\$1\\s+AND fence = \\$2\\s+AND ${stateAndLease.source}`, 'g'),
        'change_id = $1 AND $2::integer IS NOT NULL',
      )
      .replaceAll(
        new RegExp(
          `AND held\\.fence = (?:wanted|ended)\\.fence\\s+AND ${stateAndLease.source}`,
          'g',
        ),
        '',
      )
      .replaceAll('RETURNING held.change_id, held.fence', 'RETURNING held.change_id, wanted.fence'),
};

/** A create whose answer was lost is sent again at once. */
const blindRetry: Mutant = {
  name: 'blind retry',
  found: /: duplicated: /,
  meddle: meddle(
    `UPDATE sync.changes SET state = 'pending', lease_until = NULL, due_at = now()
      WHERE state = 'in_doubt' AND operation = 'create' AND sends < 2`,
  ),
};

/** A sent change counts as done; no worker reads it back. */
const noReadBack: Mutant = {
  name: 'no read-back',
  found: /: (lost|diverged): /,
  meddle: meddle(
    `UPDATE sync.changes SET state = 'done', lease_until = NULL, settled_at = now(), reason = NULL
      WHERE state = 'in_doubt' AND operation <> 'create'`,
  ),
};

/** A change in doubt is given up without a word. */
const silentLoss: Mutant = {
  name: 'silent loss',
  prepare: letAnyState,
  found: /: (lost|unreported): /,
  meddle: meddle(
    `UPDATE sync.changes SET state = 'cancelled', lease_until = NULL, settled_at = now(),
      reason = '' WHERE state = 'in_doubt'`,
  ),
};

/** The first look decides: a record missing by then is sent again. */
const noQuarantine: Mutant = {
  name: 'no quarantine',
  found: /: duplicated: /,
  meddle: meddle(
    `UPDATE sync.changes SET state = 'pending', lease_until = NULL, due_at = now()
      WHERE state = 'in_doubt' AND checks > 0 AND operation = 'create' AND sends < 2`,
  ),
};

/** A record older than the sending by our clock counts as foreign, and the create is sent again. */
const ownClock: Mutant = {
  name: 'our clock for the service’s',
  found: /: duplicated: /,
  rewrite: (sql) =>
    sql.replace(
      'AS "isKnown"',
      `OR created_at < $3::timestamptz - interval '2 minutes' AS "isKnown"`,
    ),
};

/** A reading counts as it is, however soon it came after a write of ours. */
const neverBehind: Mutant = {
  name: 'a reading that is never behind',
  found: /: (misjudged|reverted|lost): /,
  isForHurry: true,
  rewrite: (sql) => sql.replaceAll("interval '60000 milliseconds'", "interval '0'"),
};

/** A request goes out when its turn comes, though another worker may have the change by then. */
const noLookAtTheTurn: Mutant = {
  name: 'no look at the turn',
  found: /: duplicated: /,
  isTimeless: true,
};

/** What an author had read counts for nothing. */
const noClaim: Mutant = {
  name: 'what an author had read counts for nothing',
  found: /: lost to an ERP: /,
  prepare: meddle(
    `CREATE OR REPLACE FUNCTION sync.seen_row(of_table text, held jsonb) RETURNS jsonb
       LANGUAGE sql AS 'SELECT NULL::jsonb'`,
  ),
};

/** A write joins the unsent wish of another author, though its own author had not read it. */
const joinsUnread: Mutant = {
  name: 'a write joins an unsent wish that its author had not read',
  found: /: lost to an ERP: /,
  prepare: meddle(`DO $$ BEGIN
    EXECUTE replace(pg_get_functiondef((SELECT oid FROM pg_proc WHERE proname = 'record_change')),
      'unseen ?| ARRAY(SELECT jsonb_object_keys(last.fields))', 'false');
  END $$`),
};

/** A reader's own writes are not among the values that it had read. */
const noOwnWrites: Mutant = {
  name: 'an author conflicts with itself',
  found: /: misjudged: /,
  prepare: meddle(
    `CREATE OR REPLACE FUNCTION sync.is_written_by_me(told sync.feed_entries, state text)
       RETURNS boolean LANGUAGE sql AS 'SELECT false'`,
  ),
};

/** Ways to break what an author says it had read; they show where an ERP is behind. */
export const staleMutants: readonly Mutant[] = [noClaim, joinsUnread, noOwnWrites];

export const mutants: readonly Mutant[] = [
  noFence,
  blindRetry,
  noReadBack,
  silentLoss,
  noQuarantine,
  ownClock,
  neverBehind,
  noLookAtTheTurn,
];
