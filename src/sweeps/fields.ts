// The fields that the service sends. Once per page, the elements that the parser saw are mapped to
// the fields of warehouse tables, at a cost per shape of record. This file also keeps the fields
// that a sweep has met, and stores them, with the share of the rows in which each is filled.

import type pg from 'pg';
import {listTypes, namesTypes, type SeenElements, type SentType} from '../api/value-types.ts';
import {quoteName} from '../postgres/sql.ts';
import {type Part, planOf} from '../streams/record-plan.ts';
import type {Stream} from '../streams/stream.ts';
import {isSecret} from '../streams/values.ts';

/**
 * The type that a field was sent with. `secret`: its value was dropped, whatever its type. Null:
 * the field was nil and untyped.
 */
type FieldType = SentType | 'secret' | null;

/**
 * The fields that one page contained for one table. Plain and small data, because it crosses
 * threads with every page.
 */
export interface PageFields {
  readonly table: string;
  /** True if records named types: only then is a field without a type known to be text. */
  readonly isTyped: boolean;
  /** A field that was sent with two types is listed twice. */
  readonly fields: readonly string[];
  /** The type of each of `fields`. */
  readonly types: readonly FieldType[];
}

const secretBit = 256;
/** No real field name is this long; a Postgres index would refuse ten times as much. */
const maxNameLength = 200;
/** By part and by list of names: the names that are fields, and which of them are secrets. */
const fieldsByNames = new WeakMap<Part, WeakMap<readonly string[], readonly Field[]>>();

interface Field {
  readonly name: string;
  readonly at: number;
  readonly isSecret: boolean;
}

/**
 * The fields of a stream's records and of their embedded elements, by the table that stores them.
 * An element is no field if it becomes rows of another table, or if other records contain it in
 * full.
 */
export function listPageFields(stream: Stream, seen: SeenElements): PageFields[] {
  const tables = new Map<string, {bits: Map<string, number>; isTyped: boolean}>();
  for (const {path, names, types} of seen) {
    const part = findPart(stream, path);
    if (part === null) continue;
    const table = tables.get(part.table.name) ?? {bits: new Map<string, number>(), isTyped: false};
    tables.set(part.table.name, table);
    for (const {name, at, isSecret} of fieldsIn(part, names)) {
      const typeBits = types[at] ?? 0;
      table.isTyped ||= namesTypes(typeBits);
      table.bits.set(name, (table.bits.get(name) ?? 0) | (isSecret ? secretBit : typeBits));
    }
  }
  return [...tables].map(([table, {bits, isTyped}]) => ({table, isTyped, ...listTyped(bits)}));
}

function listTyped(bits: ReadonlyMap<string, number>): Pick<PageFields, 'fields' | 'types'> {
  const fields: string[] = [];
  const types: FieldType[] = [];
  for (const [name, typeBits] of bits) {
    const sentTypes: FieldType[] =
      typeBits === secretBit ? ['secret'] : typeBits === 0 ? [null] : listTypes(typeBits);
    for (const type of sentTypes) {
      fields.push(name);
      types.push(type);
    }
  }
  return {fields, types};
}

/** The part that reads the elements of a path; null if they are not read, or are read elsewhere. */
function findPart(stream: Stream, [element, item]: readonly string[]): Part | null {
  const {part, children} = planOf(stream);
  if (element === undefined) return part;
  return (
    children.find(({child}) => child.element === element && (child.item ?? undefined) === item)
      ?.part ?? null
  );
}

function fieldsIn(part: Part, names: readonly string[]): readonly Field[] {
  const cachedFields =
    fieldsByNames.get(part) ?? new WeakMap<readonly string[], readonly Field[]>();
  fieldsByNames.set(part, cachedFields);
  const fields = cachedFields.get(names) ?? findFields(part, names);
  cachedFields.set(names, fields);
  return fields;
}

function findFields({columnOf, skipped, keepsRest}: Part, names: readonly string[]): Field[] {
  return names.flatMap((name, at) => {
    if (columnOf.has(name)) return [{name, at, isSecret: false}];
    if (!keepsRest || skipped.has(name) || name.length > maxNameLength) return [];
    return [{name, at, isSecret: isSecret(name)}];
  });
}

/**
 * More fields than any account has. Names beyond this number are made up, and stay out of the list
 * of fields.
 */
const maxFields = 4_096;

/**
 * The fields that one sweep has met, so that each is written once per sweep and not with every
 * page.
 */
export class FieldSightings {
  readonly #columns: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By table, by field: the types. */
  readonly #seen = new Map<string, Map<string, Set<string | null>>>();
  #count = 0;

  constructor(stream: Stream) {
    this.#columns = columnsByTable(stream);
  }

  /**
   * Adds the fields of pages. Call it outside the transaction, which may run twice.
   * @returns fields, and further types of fields, that this sweep had not met yet
   */
  take(pages: readonly PageFields[]): SeenField[] {
    const newFields: SeenField[] = [];
    for (const {table, isTyped, fields, types} of pages) {
      const seen = this.#seen.get(table) ?? new Map<string, Set<string | null>>();
      this.#seen.set(table, seen);
      for (const [at, field] of fields.entries()) {
        const type = types[at] ?? null;
        if (!this.#note(seen, field, type)) continue;
        const column = this.#columns.get(table)?.get(field) ?? null;
        newFields.push({table, field, column, type, isTyped});
      }
    }
    return newFields;
  }

  /**
   * @returns whether the sighting is new: a further type is new, a missing type of a known field is
   *   not
   */
  #note(seen: Map<string, Set<string | null>>, field: string, type: string | null): boolean {
    const types = seen.get(field);
    if (types === undefined) {
      if (this.#count >= maxFields) return false;
      this.#count++;
      seen.set(field, new Set([type]));
      return true;
    }
    if (type === null || types.has(type)) return false;
    types.add(type);
    return true;
  }
}

function columnsByTable(stream: Stream): Map<string, Map<string, string>> {
  const {part, children} = planOf(stream);
  return new Map(
    [part, ...children.map((child) => child.part)].map(({table, columns, columnOf}) => [
      table.name,
      new Map([...columnOf].map(([field, at]) => [field, columns[at]?.name ?? field])),
    ]),
  );
}

/** A field that a sweep finds for the first time, or with a type that is new to the sweep. */
export interface SeenField {
  /** The warehouse table whose records contain it. */
  readonly table: string;
  /** With underscores. */
  readonly field: string;
  /** The column that stores it; null if it is kept in `extra`, or dropped. */
  readonly column: string | null;
  /** As in sync.fields.types; null if it was nil and named no type. */
  readonly type: string | null;
  /** Whether its record named types at all: only then is `text` more than the lack of one. */
  readonly isTyped: boolean;
}

/** A sweep that notes the fields of its stream. */
interface FieldSweep {
  readonly accountId: string;
  readonly stream: string;
  readonly sweepId: string;
}

/**
 * Stores fields that a sweep has found, in the caller's transaction and in one statement. Unknown
 * fields are listed, known ones are marked as seen just now, and new types are added. Events report
 * the changes:
 * - `new`: unknown so far, in a table and a stream that were swept before: a first discovery is no
 *   flood of news;
 * - `returned`: it had vanished;
 * - `retyped`: a type it never had. The documented dialect names no types, so a `text` among fields
 *   without types does not count as a type. The first types of a table that had none are no news
 *   either; nor is the first type of a field that was always nil.
 */
export async function rememberFields(
  client: pg.ClientBase,
  sweepFields: FieldSweep & {readonly fields: readonly SeenField[]},
): Promise<void> {
  const {accountId, stream, sweepId, fields} = sweepFields;
  if (fields.length === 0) return;
  await client.query(rememberSql, [
    accountId,
    stream,
    sweepId,
    fields.map((field) => field.table),
    fields.map((field) => field.field),
    fields.map((field) => field.column),
    fields.map((field) => field.type),
    fields.map((field) => field.isTyped),
  ]);
}

/** A type that only an attribute can give. */
const isTypeGiven = (type: string) => `${type} <> ALL ('{text,nested,secret}')`;

/** All conditions use the state before the statement: a statement does not see its own writes. */
const rememberSql = `
  WITH seen AS (
    SELECT table_name, field, max(column_name) AS column_name, bool_or(is_typed) AS is_typed,
           coalesce(array_agg(type ORDER BY at) FILTER (WHERE type IS NOT NULL), '{}') AS types
      FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[]) WITH ORDINALITY
        AS seen (table_name, field, column_name, type, is_typed, at)
     GROUP BY table_name, field
  ), past AS (
    SELECT held.table_name, coalesce(bool_or(${isTypeGiven('type')}), false) AS was_typed
      FROM sync.fields AS held LEFT JOIN LATERAL unnest(held.types) AS type ON true
     WHERE held.account_id = $1 AND held.table_name = ANY ($4)
     GROUP BY held.table_name
  ), judged AS (
    SELECT seen.*, held.field IS NOT NULL AS is_held, coalesce(held.types, '{}') AS held_types,
           held.vanished_at,
           past.table_name IS NOT NULL AS is_table_known,
           coalesce(past.was_typed, false) AS was_typed,
           ARRAY(
             SELECT type FROM unnest(seen.types) WITH ORDINALITY AS sent (type, at)
              WHERE type <> ALL (coalesce(held.types, '{}'))
                AND (type <> 'text' OR seen.is_typed OR coalesce(held.types, '{}') = '{}')
              ORDER BY at
           ) AS added
      FROM seen
      LEFT JOIN sync.fields AS held
        ON held.account_id = $1 AND held.table_name = seen.table_name AND held.field = seen.field
      LEFT JOIN past ON past.table_name = seen.table_name
  ), written AS (
    INSERT INTO sync.fields AS held (account_id, table_name, field, stream, types, column_name,
      last_sweep_id)
    SELECT $1, table_name, field, $2, added, column_name, $3 FROM judged ORDER BY table_name, field
        ON CONFLICT (account_id, table_name, field) DO UPDATE
       SET stream = EXCLUDED.stream, last_seen_at = now(), last_sweep_id = EXCLUDED.last_sweep_id,
         vanished_at = NULL,
           types = held.types || ARRAY(SELECT type FROM unnest(EXCLUDED.types) AS type
                                        WHERE type <> ALL (held.types)),
           column_name = CASE WHEN held.promoted_as IS NULL THEN EXCLUDED.column_name END
  ), sent AS (
    SELECT *, array_to_string(added, ', ') AS news,
           CASE WHEN 'secret' = ANY (types) THEN 'a secret: dropped, never stored'
                WHEN column_name IS NULL THEN 'kept in extra'
                ELSE 'kept in the column ' || column_name END AS place
      FROM judged
  )
  INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id)
  SELECT $1, table_name, field, kind, detail, $3
    FROM sent
   CROSS JOIN LATERAL (VALUES
           (1, 'new', NOT is_held AND is_table_known AND EXISTS (
                 SELECT FROM sync.sweeps
                  WHERE account_id = $1 AND stream = $2 AND mode = 'full'
                    AND state IN ('certified', 'uncertified', 'stopped')),
            CASE WHEN added = '{}' OR 'secret' = ANY (added) THEN place
                 ELSE 'sent as ' || news || '; ' || place END),
           (2, 'returned', vanished_at IS NOT NULL,
            'seen again; missed since ' || to_char(vanished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')),
           (3, 'retyped', is_held AND is_typed AND was_typed AND held_types <> '{}'
             AND added <> '{}',
            'sent as ' || news || '; before as ' || array_to_string(held_types, ', '))
         ) AS event (at, kind, has_happened, detail)
   WHERE has_happened
   ORDER BY table_name, field, at`;

/**
 * Evaluates a full sweep that has read its list to the end, in the transaction that ends it.
 *
 * If every record was parsed, fields that no record contains any more are marked as `vanished`. A
 * record that was skipped by its bytes still contains fields, which nothing has read. A table
 * without a record in the sweep gives no information about its fields. The time of the last
 * sighting counts, not its sweep, because a window may run meanwhile.
 *
 * If rows were written, the filled shares are counted again, over the live rows.
 * @param sweep.parsedAll - every record of the sweep was parsed, in any process
 * @param sweep.wroteRows - a row of one of the stream's tables was written
 */
export async function settleFields(
  client: pg.ClientBase,
  sweep: FieldSweep & {readonly parsedAll: boolean; readonly wroteRows: boolean},
): Promise<void> {
  const {accountId, stream, sweepId, parsedAll, wroteRows} = sweep;
  if (parsedAll) await client.query(vanishSql, [accountId, stream, sweepId]);
  if (wroteRows) await countFilled(client, sweep);
}

const vanishSql = `
  WITH sweep AS (
    SELECT started_at FROM sync.sweeps WHERE sweep_id = $3
  ), vanished AS (
    UPDATE sync.fields AS held SET vanished_at = now()
      FROM sweep
     WHERE held.account_id = $1 AND held.stream = $2 AND held.vanished_at IS NULL
       AND held.last_seen_at < sweep.started_at AND held.last_sweep_id > 0
       AND EXISTS (
             SELECT FROM sync.fields AS other
              WHERE other.account_id = $1 AND other.stream = $2
                AND other.table_name = held.table_name
                AND other.last_seen_at >= sweep.started_at)
 RETURNING held.table_name, held.field, held.last_seen_at
  )
  INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id)
  SELECT $1, table_name, field, 'vanished',
         'no record contains it any longer; last seen ' || to_char(last_seen_at AT TIME ZONE 'UTC',
           'YYYY-MM-DD'), $3
    FROM vanished ORDER BY table_name, field`;

interface StoredField {
  readonly table: string;
  readonly field: string;
  /** Null if it is kept in `extra`. */
  readonly column: string | null;
  readonly isText: boolean;
}

interface FilledShare {
  readonly table: string;
  readonly field: string;
  /** 0 to 1; null without rows. */
  readonly share: number | null;
}

/**
 * Counts again in which share of the live rows each field of a stream's tables is filled, in one
 * pass over each table. Null and an empty text do not count as filled. A share that did not change
 * is not written.
 */
async function countFilled(
  client: pg.ClientBase,
  {accountId, stream}: {readonly accountId: string; readonly stream: string},
): Promise<void> {
  const shares: FilledShare[] = [];
  for (const [table, fields] of await listStoredFields(client, {accountId, stream}))
    shares.push(...(await countTable(client, {accountId, table, fields})));
  await client.query(
    `UPDATE sync.fields AS held SET filled_share = counted.share
       FROM unnest($2::text[], $3::text[], $4::real[]) AS counted (table_name, field, share)
      WHERE held.account_id = $1 AND held.table_name = counted.table_name
        AND held.field = counted.field
        AND held.filled_share IS DISTINCT FROM counted.share`,
    [
      accountId,
      shares.map(({table}) => table),
      shares.map(({field}) => field),
      shares.map(({share}) => share),
    ],
  );
}

/**
 * Fields whose values are kept, by table. Only a table and a column that exist become names in a
 * statement.
 */
async function listStoredFields(
  client: pg.ClientBase,
  {accountId, stream}: {readonly accountId: string; readonly stream: string},
): Promise<Map<string, StoredField[]>> {
  const {rows} = await client.query<StoredField>(
    `SELECT field.table_name AS table, field.field, field.column_name AS column,
            kept.atttypid = 'pg_catalog.text'::regtype AS "isText"
       FROM sync.fields AS field
       JOIN pg_class AS class ON class.relname = field.table_name
                             AND class.relnamespace = 'warehouse'::regnamespace
                             AND class.relkind = 'r'
       JOIN pg_attribute AS kept ON kept.attrelid = class.oid AND NOT kept.attisdropped
                                AND kept.attname = coalesce(field.column_name, 'extra')
      WHERE field.account_id = $1 AND field.stream = $2 AND 'secret' <> ALL (field.types)
      ORDER BY field.table_name, field.field`,
    [accountId, stream],
  );
  return Map.groupBy(rows, (row) => row.table);
}

async function countTable(
  client: pg.ClientBase,
  {
    accountId,
    table,
    fields,
  }: {readonly accountId: string; readonly table: string; readonly fields: readonly StoredField[]},
): Promise<FilledShare[]> {
  const extraFields = fields.filter(({column}) => column === null).map(({field}) => field);
  const {rows} = await client.query<{live: string; filled: string[]}>(countSql(table, fields), [
    accountId,
    ...extraFields,
  ]);
  const [counts] = rows;
  const liveRows = Number(counts?.live);
  return fields.map(({field}, index) => ({
    table,
    field,
    share: liveRows === 0 ? null : Number(counts?.filled[index]) / liveRows,
  }));
}

/**
 * Looks up every key in every row: 1.1 s for 100,000 jobs with 48 keys, against 1.5 s for splitting
 * the objects with jsonb_each. Keys are the service's words, so they are parameters, from $2 on.
 */
function countSql(table: string, fields: readonly StoredField[]): string {
  let parameter = 1;
  const counts = fields.map(({column, isText}) => {
    if (column === null) return `count(nullif(live.extra ->> $${++parameter}::text, ''))`;
    const value = `live.${quoteName(column)}`;
    return `count(${isText ? `nullif(${value}, '')` : value})`;
  });
  return `
    SELECT count(*) AS live, ARRAY[${counts.join(', ')}]::bigint[] AS filled
      FROM warehouse.${quoteName(table)} AS live
     WHERE live.account_id = $1 AND live._deleted_at IS NULL`;
}
