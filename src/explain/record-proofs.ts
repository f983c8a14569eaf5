// Facts about one record beside the versions of its row: proofs, tombstones, refusals.

import type {Queryable} from '../postgres/database.ts';
import type {SweepMode} from '../sweeps/sweep.ts';

/** A record at the service. */
export interface RecordPlace {
  readonly accountId: string;
  readonly stream: string;
  readonly number: string;
}

/** A certified sweep that covered a record. Instants are ISO 8601 in UTC. */
export interface Proof {
  readonly sweepId: string;
  readonly mode: SweepMode;
  readonly startedAt: string;
}

/** The service's answer when it was asked for a record. */
export interface NumberAnswer {
  readonly sweepId: string;
  readonly status: number;
  readonly words: string;
  readonly askedAt: string;
}

/**
 * The last certified sweep that covered the record and started after a moment: of the whole stream,
 * or of this record. The warehouse's rows were true when that sweep started.
 * @param after - ISO 8601
 * @returns null when there was none
 */
export async function readLastProof(
  db: Queryable,
  {accountId, stream, number}: RecordPlace,
  after: string,
): Promise<Proof | null> {
  const {rows} = await db.query<Proof>(
    `SELECT sweep_id AS "sweepId", mode, started_at AS "startedAt" FROM sync.sweeps
      WHERE account_id = $1 AND stream = $2 AND state = 'certified' AND started_at > $4
        AND (mode = 'full' OR (mode = 'record' AND record_number = $3))
      ORDER BY started_at DESC LIMIT 1`,
    [accountId, stream, number, after],
  );
  return rows[0] ?? null;
}

/** The evidence for every time when the record's row was marked deleted, the oldest first. */
export async function readDeletions(
  db: Queryable,
  {accountId, stream, number}: RecordPlace,
): Promise<NumberAnswer[]> {
  const {rows} = await db.query<NumberAnswer>(
    `SELECT sweep_id AS "sweepId", status, words, asked_at AS "askedAt" FROM sync.tombstones
      WHERE number = $3 AND account_id = $1 AND stream = $2 AND written_at IS NOT NULL ORDER BY asked_at`,
    [accountId, stream, number],
  );
  return rows;
}

/** The service's answer when it was asked for a number that no row has; null when it never was. */
export async function readAbsence(
  db: Queryable,
  {accountId, stream, number}: RecordPlace,
): Promise<NumberAnswer | null> {
  const {rows} = await db.query<NumberAnswer>(
    `SELECT sweep_id AS "sweepId", status, words, asked_at AS "askedAt" FROM sync.absent_numbers
      WHERE number = $3 AND account_id = $1 AND stream = $2`,
    [accountId, stream, number],
  );
  return rows[0] ?? null;
}

/** Names of the fields that were ever seen in records of a table. */
export async function listFieldNames(
  db: Queryable,
  {accountId, tableName}: {readonly accountId: string; readonly tableName: string},
): Promise<string[]> {
  const {rows} = await db.query<{field: string}>(
    'SELECT field FROM sync.fields WHERE account_id = $1 AND table_name = $2 ORDER BY field',
    [accountId, tableName],
  );
  return rows.map((row) => row.field);
}
