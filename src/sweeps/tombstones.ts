// A row is marked deleted only together with the service's answer to the request for its record. A
// number that no list showed and that the service does not have is stored as absent. A sweep that
// was stopped before too many deletions continues when a person approves them.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type ReadRow, readByCursor, selectColumns} from '../postgres/sql.ts';
import {NumberSet} from '../rows/number-set.ts';
import {keyOf, nameTable} from '../rows/table-sql.ts';
import type {MirrorTable, OwnedTable} from '../streams/table.ts';
import {isLatestOpinion, type Sweep, sweepColumns} from './sweeps.ts';
import type {tombstones} from './tables.ts';

/** A number for which the service answered that it has no record. */
export interface GoneNumber {
  readonly number: string;
  readonly status: number;
  readonly message: string;
  /** Number of the record into which it was merged. */
  readonly mergedInto?: string;
}

const columns = [
  'number',
  'status',
  'message',
  'merged_into',
  'requested_at',
  'written_at',
  'undone_at',
] as const satisfies readonly (keyof typeof tombstones.$inferSelect)[];

/**
 * A row that is, or would be, marked deleted: a row of sync.tombstones, whose definition explains
 * each column.
 */
export type Tombstone = ReadRow<typeof tombstones.$inferSelect, (typeof columns)[number]>;

/** Answers "gone" to the requests of one sweep. */
interface NotFoundAnswers extends SweepScope {
  readonly gone: readonly GoneNumber[];
  /** A moment before the first of the requests was sent, by the database's clock. */
  readonly requestedAt: string;
}

/**
 * A statement's values: account, stream, sweep, moment of the request; arrays of numbers, statuses
 * and messages.
 */
function toValues({accountId, stream, sweepId, requestedAt, gone}: NotFoundAnswers): unknown[] {
  return [
    accountId,
    stream,
    sweepId,
    requestedAt,
    gone.map((answer) => answer.number),
    gone.map((answer) => answer.status),
    gone.map((answer) => answer.message),
  ];
}

interface SweepScope {
  readonly accountId: string;
  readonly stream: string;
  readonly sweepId: string;
}

/** Stores the answers to the requests for stored rows. This marks no row: the sweep's end does. */
export async function saveAnswers(client: pg.ClientBase, found: NotFoundAnswers): Promise<void> {
  if (found.gone.length === 0) return;
  await client.query(
    `INSERT INTO sync.tombstones AS held (account_id, stream, sweep_id, requested_at, number,
      status, message, merged_into)
     SELECT $1, $2, $3, $4, gone.*
       FROM unnest($5::bigint[], $6::integer[], $7::text[], $8::bigint[]) AS gone
       (number, status, message, merged_into)
         ON CONFLICT (sweep_id, number) DO UPDATE
        SET requested_at = EXCLUDED.requested_at, status = EXCLUDED.status,
            message = EXCLUDED.message,
          merged_into = EXCLUDED.merged_into`,
    [...toValues(found), found.gone.map(({mergedInto = null}) => mergedInto)],
  );
}

/** Stores the rows that were not requested because of the breaker, for the person who decides. */
export async function saveSuspects(
  client: pg.ClientBase,
  suspects: SweepScope & {readonly numbers: readonly string[]},
): Promise<void> {
  await client.query(
    `INSERT INTO sync.tombstones (account_id, stream, sweep_id, number)
     SELECT $1, $2, $3, number FROM unnest($4::bigint[]) AS number
         ON CONFLICT (sweep_id, number) DO NOTHING`,
    [suspects.accountId, suspects.stream, suspects.sweepId, suspects.numbers],
  );
}

/** Drops the entries of numbers that are no longer suspect: their records were found. */
export async function dropSuspects(
  db: Queryable,
  sweepId: string,
  numbers: readonly string[],
): Promise<void> {
  await db.query(
    `DELETE FROM sync.tombstones
      WHERE sweep_id = $1 AND number = ANY ($2::bigint[]) AND written_at IS NULL`,
    [sweepId, numbers],
  );
}

/** The tombstones of a sweep, written or not, in order of number. */
export async function listTombstones(db: Queryable, sweepId: string): Promise<Tombstone[]> {
  const {rows} = await db.query<Tombstone>(
    `SELECT ${selectColumns(columns)} FROM sync.tombstones WHERE sweep_id = $1 ORDER BY number`,
    [sweepId],
  );
  return rows;
}

/**
 * Marks deleted the rows for which the sweep has evidence, and the rows that they own. If a row was
 * written after its record was requested, the record has come back meanwhile, and the row stays.
 * @returns how many rows of the stream's own table were marked, and how many of their children
 */
export async function writeTombstones(
  client: pg.ClientBase,
  family: {readonly table: MirrorTable; readonly owned: readonly OwnedTable[]},
  {sweepId, accountId}: Pick<SweepScope, 'sweepId' | 'accountId'>,
): Promise<{tombstoned: number; vanished: number}> {
  const key = keyOf(family.table);
  const {rows} = await client.query<{number: string}>(
    `WITH marked AS (
       UPDATE ${nameTable(family.table)} AS held
          SET _deleted_at = now(), _changed_at = now(), _sweep_id = $1, _change_id = NULL,
            _page = NULL
         FROM sync.tombstones AS tombstone
        WHERE tombstone.sweep_id = $1 AND tombstone.written_at IS NULL
        AND tombstone.requested_at >= held._changed_at
          AND held.account_id = $2 AND held.${key} = tombstone.number AND held._deleted_at IS NULL
    RETURNING held.${key} AS number)
     UPDATE sync.tombstones AS tombstone SET written_at = now()
       FROM marked WHERE tombstone.sweep_id = $1 AND tombstone.number = marked.number
  RETURNING tombstone.number`,
    [sweepId, accountId],
  );
  const numbers = rows.map((row) => row.number);
  let vanished = 0;
  if (numbers.length > 0) {
    for (const owned of family.owned)
      vanished += await markOwned(client, owned, {sweepId, accountId, numbers});
    await moveLinks(client, family.table, {sweepId, accountId, numbers});
  }
  return {tombstoned: numbers.length, vanished};
}

interface MarkedRecords {
  readonly sweepId: string;
  readonly accountId: string;
  readonly numbers: readonly string[];
}

/** Moves the keys of merged rows to the rows that remain, the lowest number first. */
async function moveLinks(
  client: pg.ClientBase,
  mirrorTable: MirrorTable,
  {sweepId, accountId, numbers}: MarkedRecords,
): Promise<void> {
  const [table, key] = [nameTable(mirrorTable), keyOf(mirrorTable)];
  const {rows} = await client.query<{gone: string; stayed: string}>(
    `SELECT gone.row_id AS gone, stayed.row_id AS stayed
       FROM sync.tombstones AS tombstone
       JOIN ${table} AS gone ON gone.account_id = $2 AND gone.${key} = tombstone.number
       JOIN ${table} AS stayed ON stayed.account_id = $2 AND stayed.${key} = tombstone.merged_into
        AND stayed._deleted_at IS NULL
      WHERE tombstone.sweep_id = $1 AND tombstone.number = ANY ($3::bigint[])
      ORDER BY tombstone.number`,
    [sweepId, accountId, numbers],
  );
  for (const {gone: goneRowId, stayed: remainingRowId} of rows) {
    const values = [accountId, mirrorTable.name, goneRowId, remainingRowId];
    await client.query('SELECT sync.move_links($1, $2, $3, $4)', values);
  }
}

async function markOwned(
  client: pg.ClientBase,
  {table, parentColumn}: OwnedTable,
  owner: MarkedRecords,
): Promise<number> {
  const {rowCount} = await client.query(
    `UPDATE ${nameTable(table)} SET _deleted_at = now(), _changed_at = now(), _sweep_id = $1,
      _change_id = NULL, _page = NULL
      WHERE account_id = $2 AND ${pg.escapeIdentifier(parentColumn)} = ANY ($3::bigint[])
      AND _deleted_at IS NULL`,
    [owner.sweepId, owner.accountId, owner.numbers],
  );
  return rowCount ?? 0;
}

/** Notes that records came back: their tombstones were correct, but no longer apply. */
export async function undoTombstones(
  client: pg.ClientBase,
  returned: {
    readonly accountId: string;
    readonly stream: string;
    readonly numbers: readonly string[];
  },
): Promise<void> {
  await client.query(
    `UPDATE sync.tombstones SET undone_at = now()
      WHERE account_id = $1 AND stream = $2 AND number = ANY ($3::bigint[])
        AND written_at IS NOT NULL AND undone_at IS NULL`,
    [returned.accountId, returned.stream, returned.numbers],
  );
}

/** Reads the database's clock: every later request is sent after this moment. */
export async function readClock(db: Queryable): Promise<string> {
  const {rows} = await db.query<{now: string}>('SELECT clock_timestamp() AS now');
  return rows[0]?.now ?? '';
}

interface Scope {
  readonly accountId: string;
  readonly stream: string;
}

/** Stores numbers for which the service has no record: they are requested only once. */
export async function rememberAbsent(client: pg.ClientBase, found: NotFoundAnswers): Promise<void> {
  if (found.gone.length === 0) return;
  await client.query(
    `INSERT INTO sync.absent_numbers
      (account_id, stream, sweep_id, requested_at, number, status, message)
     SELECT $1, $2, $3, $4, gone.* FROM unnest($5::bigint[], $6::integer[], $7::text[]) AS gone
       (number, status, message)
         ON CONFLICT (account_id, stream, number) DO NOTHING`,
    toValues(found),
  );
}

/** Deletes absent numbers whose records exist after all. */
export async function forgetAbsent(
  client: pg.ClientBase,
  existing: Scope & {readonly numbers: readonly string[]},
): Promise<void> {
  await client.query(
    `DELETE FROM sync.absent_numbers
      WHERE account_id = $1 AND stream = $2 AND number = ANY ($3::bigint[])`,
    [existing.accountId, existing.stream, existing.numbers],
  );
}

/** Reads the numbers stored as absent. */
export async function readAbsent(pool: pg.Pool, {accountId, stream}: Scope): Promise<NumberSet> {
  const query = 'SELECT number FROM sync.absent_numbers WHERE account_id = $1 AND stream = $2';
  return await inTransaction(pool, async (client) => {
    const absent = new NumberSet();
    for await (const rows of readByCursor<{number: string}>(client, query, [accountId, stream])) {
      for (const {number} of rows) absent.add(number);
    }
    return absent;
  });
}

/**
 * Approves the tombstones of a stopped sweep: it is due again, and requests each of the records
 * again.
 * @returns null if there is no such sweep, it is not stopped, or a later full sweep of the stream
 *   has ended
 */
export async function approveSweep(db: Queryable, sweepId: string): Promise<Sweep | null> {
  const {rows} = await db.query<Sweep>(
    `UPDATE sync.sweeps
        SET state = 'due', stage = 'approved', approved_at = now(),
            approved_by = sync.decider(), due_at = now(), ended_at = NULL, reasons = '{}'
      WHERE sweep_id = $1 AND state = 'stopped'
        AND ${isLatestOpinion('sweeps')}
  RETURNING ${sweepColumns}`,
    [sweepId],
  );
  return rows[0] ?? null;
}

/**
 * Approves the tombstones of a stopped sweep.
 * @throws {UsageError} it is not stopped, or a later full sweep has ended
 */
export async function approveDeletions(
  db: Queryable,
  {sweepId, state, stream}: Sweep,
): Promise<Sweep> {
  if (state !== 'stopped')
    throw new UsageError(`sweep ${sweepId} is ${state}: only a stopped one waits for approval`);
  const approved = await approveSweep(db, sweepId);
  if (approved !== null) return approved;
  throw new UsageError(
    `sweep ${sweepId}: a later full sweep of ${stream} has come to its end: ` +
      `look at that one (fieldmirror sweeps list ${stream})`,
  );
}

/** Describes the next steps of an approved sweep. */
export function describeApproval({sweepId}: Sweep): string {
  const nextSteps = 'it requests each record again, and marks deleted what no longer exists';
  return `sweep ${sweepId} is due again: ${nextSteps}`;
}
