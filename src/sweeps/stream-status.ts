import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import {nameTable} from '../rows/table-sql.ts';
import type {MirrorTable} from '../streams/mirror-table.ts';
import {type Sweep, sweepColumns} from './sweep.ts';

/** The state of one stream, from what is noted of it. */
export interface StreamNotes {
  readonly stream: string;
  /** The last sweep of each mode and window, whatever became of it. */
  readonly sweeps: readonly Sweep[];
  /** Records in quarantine, still open. */
  readonly quarantined: number;
}

/** The state of one stream, for a person at a glance. */
export interface StreamStatus extends StreamNotes {
  /** Rows that live, of records that the service has. */
  readonly rows: number;
}

/** Reads how some streams of an account stand, in the order given. */
export async function readStatus(
  db: Queryable,
  accountId: string,
  streams: readonly {readonly name: string; readonly table: MirrorTable}[],
): Promise<StreamStatus[]> {
  const names = streams.map(({name}) => name);
  const status: StreamStatus[] = [];
  for (const notes of await readStreamNotes(db, accountId, names)) {
    const table = streams.find(({name}) => name === notes.stream)?.table;
    if (table !== undefined) status.push({...notes, rows: await countRows(db, table, accountId)});
  }
  return status;
}

/** Reads the same without a look at the rows of the streams, however many there are. */
export async function readStreamNotes(
  db: Queryable,
  accountId: string,
  streams: readonly string[],
): Promise<StreamNotes[]> {
  const sweeps = await listLatestSweeps(db, accountId);
  const quarantined = await countQuarantined(db, accountId);
  return streams.map((stream) => ({
    stream,
    sweeps: sweeps.filter((sweep) => sweep.stream === stream),
    quarantined: quarantined.get(stream) ?? 0,
  }));
}

/** Counts the live rows of a table, without those that exist here alone: they have no number. */
export async function countRows(
  db: Queryable,
  table: MirrorTable,
  accountId: string,
): Promise<number> {
  const isRecord = table.key
    .map((name) => ` AND ${pg.escapeIdentifier(name)} IS NOT NULL`)
    .join('');
  const {rows} = await db.query<{count: string}>(
    `SELECT count(*) FROM ${nameTable(table)} WHERE account_id = $1 AND _deleted_at IS NULL${isRecord}`,
    [accountId],
  );
  return Number(rows[0]?.count);
}

/** The last sweep of each stream, mode and window; sweeps of single records count as one. */
export async function listLatestSweeps(db: Queryable, accountId: string): Promise<Sweep[]> {
  const {rows} = await db.query<Sweep>(
    `SELECT DISTINCT ON (stream, mode, window_name) ${sweepColumns}
       FROM sync.sweeps WHERE account_id = $1
      ORDER BY stream, mode, window_name, sweep_id DESC`,
    [accountId],
  );
  return rows;
}

/** @returns stream to the number of its records in quarantine, still open */
export async function countQuarantined(
  db: Queryable,
  accountId: string,
): Promise<Map<string, number>> {
  const {rows} = await db.query<{stream: string; count: string}>(
    `SELECT stream, count(*) FROM sync.quarantine WHERE account_id = $1 AND resolved_at IS NULL GROUP BY stream`,
    [accountId],
  );
  return new Map(rows.map((row) => [row.stream, Number(row.count)]));
}
