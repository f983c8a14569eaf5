// The stored history of a record: the versions of its row, each with its writer, and the proofs,
// tombstones and refusals beside them. The periods in which a field kept its value. The text that
// names a writer.

import pg from 'pg';
import type {ChangeState} from '../changes/states.ts';
import {formatAgo, formatNumber} from '../core/format.ts';
import type {Queryable} from '../postgres/database.ts';
import {keyOf} from '../rows/table-sql.ts';
import {wholeList} from '../streams/stream.ts';
import type {ChangeOperation, MirrorTable} from '../streams/table.ts';
import type {Schedule} from '../sweeps/schedules.ts';
import type {SweepMode, SweepState} from '../sweeps/sweeps.ts';

/**
 * The sweep that wrote a version; mode, state and start are null if the sweep's own row is no
 * longer stored.
 */
export interface SweepWriter {
  readonly kind: 'sweep';
  readonly sweepId: string;
  readonly mode: SweepMode | null;
  readonly windowName: string | null;
  readonly state: SweepState | null;
  readonly startedAt: string | null;
  /** The page that held the record; null if the record was requested by its number. */
  readonly page: number | null;
}

/**
 * A change that wrote a version when it ended: the record read back, or the earlier row if the
 * change was not done.
 */
export interface ChangeWriter {
  readonly kind: 'change';
  readonly changeId: string;
  readonly table: string;
  readonly operation: ChangeOperation;
  readonly state: ChangeState;
  /**
   * True if the version was read from the service when the change ended; false if it is the row
   * before the change.
   */
  readonly isReadBack: boolean;
  /** Names of the fields that the change wanted. */
  readonly fields: readonly string[];
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** Null if nothing was sent, for example because the service held it already. */
  readonly sentAt: string | null;
  /** HTTP status of the last answer; null if none came. */
  readonly status: number | null;
}

/** A change that is no longer stored, and whose end wrote a version as it was read back. */
export interface PrunedChangeWriter {
  readonly kind: 'pruned-change';
  readonly changeId: string;
  /**
   * The author of the edit, if the version began with it; null if that is another version, or the
   * change created the record.
   */
  readonly writtenBy: string | null;
}

/** Any other writer of a version, or remover of a row. */
export interface EditWriter {
  readonly kind: 'edit';
  /** Database user; null when it was not noted. */
  readonly writtenBy: string | null;
  readonly application: string | null;
}

export type Writer = SweepWriter | ChangeWriter | PrunedChangeWriter | EditWriter;

/** One version of a row. Instants are ISO 8601 in UTC, with all their digits. */
export interface Version {
  readonly rowId: string;
  readonly validFrom: string;
  /** When it was superseded, or its row removed; null while it is current. */
  readonly validTo: string | null;
  /** True if the version marks the record as deleted at the service. */
  readonly isDeleted: boolean;
  readonly writer: Writer;
  /** The remover of the row, if no later version follows because the row was removed. */
  readonly remover: EditWriter | null;
  /** Every field by its name: those with a column, null included, and those kept in `extra`. */
  readonly fields: ReadonlyMap<string, unknown>;
}

interface VersionRow extends Record<string, unknown> {
  readonly _row_id: string;
  readonly _valid_from: string;
  readonly _valid_to: string | null;
  readonly _is_deleted: boolean;
  readonly _sweep: SweepWriter | null;
  readonly _change: ChangeWriter | PrunedChangeWriter | null;
  readonly _edit: EditWriter;
  readonly _removal: EditWriter | null;
  readonly _attributes: Readonly<Record<string, unknown>>;
}

/**
 * Every version of the rows that had this number in the account, or of one row, the newest first.
 */
export async function readVersions(
  db: Queryable,
  table: MirrorTable,
  record: {readonly accountId: string} & ({readonly number: string} | {readonly rowId: string}),
): Promise<Version[]> {
  const [column, value] =
    'number' in record ? [keyOf(table), record.number] : ['row_id', record.rowId];
  const {rows} = await db.query<VersionRow>(versionsSql(table, column), [
    record.accountId,
    value,
    table.name,
  ]);
  const fieldNames = fieldColumns(table);
  return rows.map((row) => ({
    rowId: row._row_id,
    validFrom: row._valid_from,
    validTo: row._valid_to,
    isDeleted: row._is_deleted,
    writer: row._sweep ?? row._change ?? row._edit,
    remover: row._removal,
    fields: new Map([
      ...fieldNames.map((name) => [name, row[name]] as const),
      ...Object.entries(row._attributes),
    ]),
  }));
}

/** The columns that hold the record's own data, the ERP's key among them. */
export function fieldColumns(table: MirrorTable): string[] {
  return [...table.columns.map((column) => column.name), 'external_key'];
}

// Our own names begin with an underscore here too, so that no field has the same name.
function versionsSql(table: MirrorTable, column: string): string {
  const columns = fieldColumns(table).map((name) => `version.${pg.escapeIdentifier(name)}`);
  return `
    SELECT version.row_id AS _row_id, version.valid_from AS _valid_from,
           version.valid_to AS _valid_to,
           version._deleted_at IS NOT NULL AS _is_deleted, version.extra AS _attributes,
           CASE WHEN version._sweep_id IS NOT NULL AND edit.row_id IS NULL THEN json_build_object(
             'kind', 'sweep', 'sweepId', version._sweep_id::text, 'mode', sweep.mode, 'windowName',
             sweep.window_name,
             'state', sweep.state, 'startedAt', ${isoText('sweep.started_at')}, 'page',
             version._page) END AS _sweep,
           ${changeSql} AS _change,
           json_build_object('kind', 'edit', 'writtenBy', edit.written_by, 'application',
             edit.application) AS _edit,
           CASE WHEN removal.row_id IS NOT NULL THEN json_build_object(
             'kind', 'edit', 'writtenBy', removal.written_by, 'application',
             removal.application) END AS _removal,
           ${columns.join(', ')}
      FROM history.${pg.escapeIdentifier(table.name)} AS version
      LEFT JOIN sync.sweeps AS sweep ON sweep.sweep_id = version._sweep_id
      LEFT JOIN history.edits AS edit
             ON edit.row_id = version.row_id AND edit.table_name = $3
            AND edit.at = version.valid_from
      LEFT JOIN LATERAL (
           SELECT * FROM sync.changes WHERE change_id = version._change_id
            UNION ALL
           -- One that came to nothing gives the row back what it held; nobody edited it then.
          (SELECT * FROM sync.changes
            WHERE num_nonnulls(version._change_id, version._sweep_id, edit.row_id) = 0
              AND row_id = version.row_id
              AND table_name = $3 AND settled_at = version.valid_from AND state <> 'done'
            ORDER BY change_id DESC LIMIT 1)) AS change ON true
      LEFT JOIN history.edits AS removal
             ON removal.row_id = version.row_id AND removal.table_name = $3
            AND removal.at = version.valid_to
            AND removal.kind = 'delete'
     WHERE version.account_id = $1 AND version.${column} = $2
     ORDER BY version.valid_from DESC, version.row_id DESC`;
}

const changeSql = `
           CASE WHEN change.change_id IS NOT NULL THEN json_build_object(
             'kind', 'change', 'changeId', change.change_id::text, 'table', change.table_name,
             'operation', change.operation,
             'state', change.state, 'isReadBack', version._change_id IS NOT NULL, 'fields',
             ARRAY(SELECT jsonb_object_keys(change.fields)),
             'requestedBy', change.requested_by, 'requestedAt', ${isoText('change.requested_at')},
             'sentAt', ${isoText('change.sent_at')}, 'status', (
               SELECT status FROM sync.attempts AS attempt
                WHERE attempt.change_id = change.change_id AND status IS NOT NULL
                ORDER BY attempt_id DESC LIMIT 1))
                WHEN version._change_id IS NOT NULL
                  THEN json_build_object('kind', 'pruned-change', 'changeId',
                    version._change_id::text, 'writtenBy', edit.written_by) END`;

/** Without this format, Postgres would write an instant inside JSON with an offset. */
function isoText(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** A record at the service. */
interface RecordKey {
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

/** The service's answer to a request for a record. */
export interface NumberAnswer {
  readonly sweepId: string;
  readonly status: number;
  readonly message: string;
  readonly requestedAt: string;
}

/**
 * The last certified sweep that covered the record and started after a moment: of the whole stream,
 * or of this record. The warehouse's rows were true when that sweep started.
 * @param after - ISO 8601
 * @returns null if there was none
 */
export async function readLastProof(
  db: Queryable,
  {accountId, stream, number}: RecordKey,
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
  {accountId, stream, number}: RecordKey,
): Promise<NumberAnswer[]> {
  const {rows} = await db.query<NumberAnswer>(
    `SELECT sweep_id AS "sweepId", status, message, requested_at AS "requestedAt"
       FROM sync.tombstones
      WHERE number = $3 AND account_id = $1 AND stream = $2 AND written_at IS NOT NULL
      ORDER BY requested_at`,
    [accountId, stream, number],
  );
  return rows;
}

/**
 * The service's answer to a request for a number that no row has; null if it was never requested.
 */
export async function readAbsence(
  db: Queryable,
  {accountId, stream, number}: RecordKey,
): Promise<NumberAnswer | null> {
  const {rows} = await db.query<NumberAnswer>(
    `SELECT sweep_id AS "sweepId", status, message, requested_at AS "requestedAt"
       FROM sync.absent_numbers
      WHERE number = $3 AND account_id = $1 AND stream = $2`,
    [accountId, stream, number],
  );
  return rows[0] ?? null;
}

/** Names of the fields that were ever seen in a table's records of some accounts. */
export async function listFieldNames(
  db: Queryable,
  {accountIds, tableName}: {readonly accountIds: readonly string[]; readonly tableName: string},
): Promise<string[]> {
  const {rows} = await db.query<{field: string}>(
    `SELECT DISTINCT field FROM sync.fields
      WHERE account_id = ANY ($1) AND table_name = $2 ORDER BY field`,
    [accountIds, tableName],
  );
  return rows.map((row) => row.field);
}

/**
 * A period in which a field did not change, and the row was neither marked deleted nor came back.
 */
export interface Run {
  readonly value: unknown;
  readonly isDeleted: boolean;
  /** When the first version with this value began. */
  readonly from: string;
  /** Null while it holds. */
  readonly to: string | null;
  /** The writer of that first version; if a change brought the value to the service, the change. */
  readonly writer: Writer;
}

/** Since when a field has its value in the newest of some versions, and who wrote it. */
export function findOrigin(versions: readonly [Version, ...Version[]], field: string): Run {
  return listRuns(versions, field)[0];
}

/** The periods of a field, the newest first. */
export function listRuns(
  [newest, ...older]: readonly [Version, ...Version[]],
  field: string,
): [Run, ...Run[]] {
  const runs: [Run, ...Run[]] = [toRun(newest, field)];
  for (const version of older) {
    const run = toRun(version, field);
    const newerRun = runs.at(-1);
    // Between two rows of the same number there is a time without a row, which ends the run.
    if (newerRun !== undefined && newerRun.from === run.to && isSame(newerRun, run))
      runs.splice(-1, 1, {
        ...run,
        to: newerRun.to,
        writer: isValueOfChange(newerRun, run, field) ? newerRun.writer : run.writer,
      });
    else runs.push(run);
  }
  return runs;
}

/** Whether a value that was here before a change was done is the value that the change wanted. */
function isValueOfChange({writer}: Run, {from}: Run, field: string): boolean {
  if (writer.kind !== 'change' || !writer.isReadBack || writer.state !== 'done') return false;
  return writer.fields.includes(field) && from >= writer.requestedAt;
}

function toRun({fields, isDeleted, validFrom, validTo, writer}: Version, field: string): Run {
  return {value: fields.get(field) ?? null, isDeleted, from: validFrom, to: validTo, writer};
}

function isSame(one: Run, other: Run): boolean {
  return (
    one.isDeleted === other.isDeleted && JSON.stringify(one.value) === JSON.stringify(other.value)
  );
}

/**
 * `sweep 12 (full, page 3, certified)`, `change 7 (update by erp, sent 2026-…, answered 200)` or
 * `an edit by erp (psql)`
 * @param field - the field in question: other values that were read back with a change were not
 *   written by it
 */
export function describeWriter(writer: Writer, field?: string): string {
  if (writer.kind === 'change') return describeChange(writer, field);
  if (writer.kind === 'edit') {
    const application = writer.application === null ? '' : ` (${writer.application})`;
    return `an edit by ${writer.writtenBy ?? 'somebody unknown'}${application}`;
  }
  if (writer.kind === 'pruned-change' && writer.writtenBy !== null)
    return (
      `an edit by ${writer.writtenBy}, brought to the service by change ${writer.changeId}, ` +
      'of which no more is kept'
    );
  if (writer.kind === 'pruned-change')
    return (
      `the end of change ${writer.changeId}, of which no more is kept: ` +
      'the record as it was read back'
    );
  if (writer.mode === null) return `sweep ${writer.sweepId}, which is no longer kept`;
  const mode = writer.mode === 'window' ? `window ${writer.windowName}` : writer.mode;
  const page = writer.page === null ? 'requested by number' : `page ${formatNumber(writer.page)}`;
  return `sweep ${writer.sweepId} (${mode}, ${page}, ${writer.state})`;
}

/** The sweep of a schedule that will read a record: `window today, if the record falls in it`. */
export function describeRead({mode, windowName}: Pick<Schedule, 'mode' | 'windowName'>): string {
  if (mode === 'full') return 'full sweep';
  return windowName === wholeList
    ? 'pass over the whole list'
    : `window ${windowName}, if the record falls in it`;
}

function describeChange(writer: ChangeWriter, field: string | undefined): string {
  const {changeId, operation, table, state, isReadBack, requestedBy, sentAt, status, fields} =
    writer;
  const unsent = state === 'done' ? 'nothing to send' : 'never sent';
  const sent = sentAt === null ? unsent : `sent ${sentAt}`;
  const answered = status === null ? '' : `, answered ${status}`;
  const text = `change ${changeId} (${operation} ${table} by ${requestedBy}, ${sent}${answered})`;
  if (!isReadBack) return `the end of ${text}, which was ${state}: what was before it came back`;
  const isWanted = state === 'done' && (field === undefined || fields.includes(field));
  return isWanted ? text : `a look at the record after ${text}, which was ${state}`;
}

/** An instant, and how long ago that is. */
export function showSince(instant: string): string {
  return `${instant} (${formatAgo(instant)})`;
}
