// The state when all is quiet, as the checker takes it.

import pg from 'pg';
import {allStreams, allWrites} from '../../../src/streams/all.ts';
import {readTruth, type TrueRecord} from '../../support/truth.ts';
import {keyOf} from './author.ts';
import type {
  Effect,
  FinalChange,
  FinalConflict,
  FinalRecord,
  FinalRow,
  Value,
  Values,
} from './history.ts';
import type {JournalEntry} from './memory-store.ts';

const writes = allWrites.filter(({table}) => table.name !== 'employees');

export async function readChanges(pool: pg.Pool): Promise<FinalChange[]> {
  const {rows} = await pool.query<FinalChange>(
    `SELECT change_id AS "changeId", table_name AS "table", row_id AS "rowId", operation, state,
      number, reason, waits_for AS "waitsFor",
            (SELECT count(*)::integer FROM sync.attempts WHERE change_id = held.change_id)
              AS attempts,
            ARRAY(SELECT jsonb_object_keys(result->'altered')) AS altered
       FROM sync.changes AS held ORDER BY held.change_id`,
  );
  return rows;
}

export async function readConflicts(pool: pg.Pool): Promise<FinalConflict[]> {
  const {rows} = await pool.query<FinalConflict>(
    `SELECT change_id AS "changeId", field, warehouse_value AS "warehouseValue",
      service_value AS "serviceValue", winner
       FROM sync.conflicts ORDER BY conflict_id`,
  );
  return rows;
}

/** What the warehouse keeps of a row, as lines of JSON: to find the reason of a violation. */
export async function describeRow(
  pool: pg.Pool,
  {table, rowId}: {readonly table: string; readonly rowId: string},
): Promise<string[]> {
  const {rows} = await pool.query<{line: string}>(
    `WITH changes AS (SELECT * FROM sync.changes WHERE table_name = $1 AND row_id = $2),
          told AS (SELECT * FROM sync.feed_entries WHERE table_name = $1 AND row_id = $2)
     SELECT line::text FROM (
       SELECT 1, change_id, jsonb_build_object('change', jsonb_strip_nulls(to_jsonb(held)))
         FROM changes AS held
        UNION ALL
       SELECT 2, attempt_id, jsonb_build_object('attempt', jsonb_strip_nulls(to_jsonb(held)))
         FROM sync.attempts AS held WHERE change_id IN (SELECT change_id FROM changes)
        UNION ALL
       SELECT 3, conflict_id, jsonb_build_object('conflict', jsonb_strip_nulls(to_jsonb(held)))
         FROM sync.conflicts AS held WHERE change_id IN (SELECT change_id FROM changes)
        UNION ALL
       SELECT 4, entry_id, jsonb_build_object('entry', jsonb_strip_nulls(to_jsonb(told)),
                'was', sync.feed_values(was, became), 'became', sync.feed_values(became, was))
         FROM told LEFT JOIN sync.feed_versions(ARRAY(SELECT entry_id FROM told)) AS version
         USING (entry_id)
     ) AS kept (part, id, line) ORDER BY part, id`,
    [table, rowId],
  );
  return rows.map(({line}) => line);
}

/** Every row of the tables that authors can write, with the fields that they can. */
export async function readFinalRows(pool: pg.Pool): Promise<FinalRow[]> {
  const all: FinalRow[] = [];
  for (const {table, key} of writes) {
    const names = table.writable.filter(({kind}) => kind !== 'ids').map(({name}) => `'${name}'`);
    const ids =
      table.name === 'jobs'
        ? `|| jsonb_build_object('employee_ids', (
              SELECT coalesce(jsonb_agg(employee_id::text), '[]')
                FROM warehouse.job_employees AS link
               WHERE link.account_id = held.account_id AND link._deleted_at IS NULL
                 AND (link.job_number = held.job_number OR link.parent_row_id = held.row_id)))`
        : '';
    const {rows} = await pool.query<FinalRow>(
      `SELECT '${table.name}' AS "table", row_id AS "rowId", ${pg.escapeIdentifier(key)} AS number,
        _deleted_at IS NOT NULL AS "isDeleted",
              _pending IS TRUE AS "isPending",
              (SELECT coalesce(jsonb_object_agg(name, to_jsonb(held) ->> name), '{}')
                FROM unnest(ARRAY[${names.join(', ')}]) AS name) ${ids} AS fields
         FROM warehouse.${pg.escapeIdentifier(table.name)} AS held`,
    );
    all.push(...rows);
  }
  return all;
}

/** Every live record, read by a reader other than ours. */
export async function readRecords(service: {
  readonly url: string;
  readonly token: string;
}): Promise<FinalRecord[]> {
  const found: FinalRecord[] = [];
  for (const stream of allStreams) {
    if (stream.name === 'employees') continue;
    for (const record of await readTruth(service, stream)) {
      found.push(...toRecords(stream.table.name, record));
      for (const child of stream.children)
        if (child.element !== 'employees')
          for (const embedded of record.embedded.get(child.element) ?? [])
            found.push(...toRecords(child.table.name, embedded));
    }
  }
  return found;
}

function toRecords(tableName: string, {fields, embedded}: TrueRecord): FinalRecord[] {
  const known = writes.find(({table}) => table.name === tableName);
  if (known === undefined) return [];
  const values: Record<string, Value> = {};
  for (const {name, kind} of known.table.writable) {
    if (kind === 'ids')
      values[name] = (embedded.get('employees') ?? []).map(
        (employee) => employee.fields.get('id') ?? '',
      );
    else values[name] = fields.get(name) ?? null;
  }
  return [{table: tableName, number: fields.get(known.key) ?? '', fields: values}];
}

/** The journal's entries, with the fields that authors can want. */
export function toEffects(journal: readonly JournalEntry[]): Effect[] {
  return journal.flatMap((entry) => {
    const table = tableOf(entry);
    const known = writes.find((candidate) => candidate.table.name === table);
    if (known === undefined) return [];
    const names = known.table.writable.map(({name}) => name);
    const pick = (values: Values) =>
      Object.fromEntries(
        names.flatMap((name) => (name in values ? [[name, values[name] ?? null]] : [])),
      );
    const fields = pick(entry.changed);
    if (entry.kind === 'update' && Object.keys(fields).length === 0) return [];
    const key = entry.kind === 'create' ? keyOf(fields) : null;
    const {kind: operation, number, isOurs} = entry;
    return [{operation, table, number, key, fields, before: pick(entry.before), isOurs}];
  });
}

/** The service has one kind of note, the warehouse two tables. */
function tableOf({resource, path}: JournalEntry): string {
  if (resource !== 'notes') return resource;
  return path.startsWith('/customers/') ? 'customer_notes' : 'job_notes';
}

/** Places where a secret stands in the tables of changes or in the log. */
export async function findCanaries(
  pool: pg.Pool,
  secrets: readonly string[],
  lines: readonly string[],
): Promise<string[]> {
  const hits = lines
    .filter((line) => secrets.some((secret) => line.includes(secret)))
    .map((line) => `log: ${line.slice(0, 80)}`);
  for (const table of ['changes', 'attempts', 'conflicts'])
    for (const secret of secrets) {
      const {rows} = await pool.query<{count: string}>(
        `SELECT count(*) FROM sync.${table} AS held WHERE strpos(held::text, $1) > 0`,
        [secret],
      );
      if (rows[0]?.count !== '0') hits.push(`sync.${table}: ${rows[0]?.count} rows`);
    }
  return hits;
}
