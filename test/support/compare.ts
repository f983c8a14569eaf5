// Compares what the service holds with what the warehouse holds, field by field.

import type {Child, Stream} from '../../src/streams/stream.ts';
import type {Queryable} from '../../src/warehouse/database.ts';
import type {Column, MirrorTable} from '../../src/warehouse/mirror-table.ts';
import type {TrueRecord} from './truth.ts';

interface HeldRow {
  readonly columns: ReadonlyMap<string, string | null>;
  readonly attributes: Record<string, unknown>;
}

const secretName = /pass|token|secret|salt|digest|api_?key/i;

/**
 * Differences between the service's records and the live rows of a stream, children included.
 * @param moment - the rows as history says they stood then; those of now when not given
 * @returns one line a difference, empty when both are the same
 */
export async function findDifferences(
  client: Queryable,
  stream: Stream,
  records: readonly TrueRecord[],
  moment: string | null = null,
): Promise<string[]> {
  const differences: string[] = [];
  const rows = await readRows(client, stream.table, moment);
  compareSets(stream.table, rows, records, differences);
  for (const child of stream.children.filter((candidate) => candidate.isOwned)) {
    const held = await readRows(client, child.table, moment);
    const embedded = records.flatMap((record) => record.embedded.get(child.element) ?? []);
    if (held.length !== countOf(child, records)) {
      differences.push(`${child.table.name}: ${held.length} rows, ${countOf(child, records)} records`);
    }
    if (child.table.key.length === 1) compareSets(child.table, held, embedded, differences);
  }
  return differences;
}

function countOf(child: Child, records: readonly TrueRecord[]): number {
  return records.reduce((sum, record) => sum + (record.embedded.get(child.element)?.length ?? 0), 0);
}

function compareSets(
  table: MirrorTable,
  rows: readonly HeldRow[],
  records: readonly TrueRecord[],
  differences: string[],
): void {
  const [key = ''] = table.key;
  const byKey = new Map(rows.map((row) => [row.columns.get(key), row]));
  if (rows.length !== records.length)
    differences.push(`${table.name}: ${rows.length} rows, ${records.length} records`);
  for (const record of records) {
    const number = record.fields.get(key) ?? '';
    const row = byKey.get(number);
    if (row === undefined) differences.push(`${table.name} ${number}: no row`);
    else compareFields(table, {record, row, place: `${table.name} ${number}`}, differences);
  }
}

function compareFields(
  table: MirrorTable,
  pair: {readonly record: TrueRecord; readonly row: HeldRow; readonly place: string},
  differences: string[],
): void {
  const {record, row, place} = pair;
  for (const [name, sent] of record.fields) {
    const column = table.columns.find((candidate) => candidate.name === name);
    const held = column === undefined ? row.attributes[name] : row.columns.get(name);
    if (secretName.test(name)) {
      if (held !== undefined && held !== null) differences.push(`${place}: the secret ${name} is held`);
    } else if (!isSame(column, sent, held)) {
      differences.push(`${place}.${name}: sent ${JSON.stringify(sent)}, held ${JSON.stringify(held)}`);
    }
  }
}

function isSame(column: Column | undefined, sent: string | null, held: unknown): boolean {
  if (sent === null) return held === null || held === undefined;
  // Of an empty element that is no text there is nothing to keep.
  if (column !== undefined && column.type !== 'text' && sent === '') return held === null;
  if (column?.type === 'instant') return Date.parse(String(held)) === Date.parse(sent);
  if (column?.type === 'float') return Number(held) === Number(sent);
  return held === sent;
}

async function readRows(client: Queryable, table: MirrorTable, moment: string | null): Promise<HeldRow[]> {
  const columns = table.columns.map((column) =>
    column.type === 'instant'
      ? `to_char("${column.name}" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "${column.name}"`
      : `"${column.name}"::text`,
  );
  const {rows} = await client.query(
    `SELECT attributes, ${columns.join(', ')} FROM ${
      moment === null ? `warehouse."${table.name}"` : `history."${table.name}_as_of"($1)`
    } WHERE _deleted_at IS NULL`,
    moment === null ? [] : [moment],
  );
  return rows.map(({attributes, ...values}) => ({
    attributes,
    columns: new Map(Object.entries<string | null>(values)),
  }));
}
