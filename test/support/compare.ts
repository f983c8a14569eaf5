// Compares the service's records with the warehouse's rows, field by field.

import type {Queryable} from '../../src/postgres/database.ts';
import type {Stream} from '../../src/streams/stream.ts';
import type {Column, MirrorTable} from '../../src/streams/table.ts';
import type {TrueRecord} from './truth.ts';

interface HeldRow {
  readonly columns: ReadonlyMap<string, string | null>;
  readonly extra: Record<string, unknown>;
}

const secretName = /pass|token|secret|salt|digest|api_?key/i;

interface Options {
  /** The instant whose rows history gives; without it, the rows of now. */
  readonly moment?: string | undefined;
  /**
   * Whether a row or record is left out of the comparison, by its number; null for a row without
   * one.
   */
  readonly leavesOut?: (table: string, number: string | null) => boolean;
}

/**
 * Differences between the service's records and the live rows of a stream, children included.
 * @returns one line a difference, empty when both are the same
 */
export async function findDifferences(
  client: Queryable,
  stream: Stream,
  records: readonly TrueRecord[],
  {moment, leavesOut = () => false}: Options = {},
): Promise<string[]> {
  const isCompared = (table: MirrorTable, number: string | null | undefined) =>
    !leavesOut(table.name, number ?? null);
  const compare = async (table: MirrorTable, found: readonly TrueRecord[]) => {
    const [key = ''] = table.key;
    // A key of two columns begins with the parent's number.
    const owner = table.key.length > 1 ? stream.table : table;
    const rows = await readRows(client, table, moment ?? null);
    return compareSets(table, {
      rows: rows.filter(({columns}) => isCompared(owner, columns.get(key))),
      records:
        owner === table ? found.filter(({fields}) => isCompared(table, fields.get(key))) : found,
    });
  };
  const differences = await compare(stream.table, records);
  for (const child of stream.children.filter((candidate) => candidate.isOwned)) {
    const [key = ''] = stream.table.key;
    const parents =
      child.table.key.length > 1
        ? records.filter(({fields}) => isCompared(stream.table, fields.get(key)))
        : records;
    const embedded = parents.flatMap((record) => record.embedded.get(child.element) ?? []);
    differences.push(...(await compare(child.table, embedded)));
  }
  return differences;
}

function compareSets(
  table: MirrorTable,
  {rows, records}: {readonly rows: readonly HeldRow[]; readonly records: readonly TrueRecord[]},
): string[] {
  const [key = ''] = table.key;
  const differences: string[] = [];
  const byKey = new Map(rows.map((row) => [row.columns.get(key), row]));
  if (rows.length !== records.length)
    differences.push(`${table.name}: ${rows.length} rows, ${records.length} records`);
  // Rows with a key of two columns are only counted.
  if (table.key.length > 1) return differences;
  for (const record of records) {
    const number = record.fields.get(key) ?? '';
    const row = byKey.get(number);
    if (row === undefined) differences.push(`${table.name} ${number}: no row`);
    else compareFields(table, {record, row, place: `${table.name} ${number}`}, differences);
  }
  return differences;
}

function compareFields(
  table: MirrorTable,
  pair: {readonly record: TrueRecord; readonly row: HeldRow; readonly place: string},
  differences: string[],
): void {
  const {record, row, place} = pair;
  for (const [name, sent] of record.fields) {
    const column = table.columns.find((candidate) => candidate.name === name);
    const held = column === undefined ? row.extra[name] : row.columns.get(name);
    if (secretName.test(name)) {
      if (held !== undefined && held !== null)
        differences.push(`${place}: the secret ${name} is held`);
    } else if (!isSame(column, sent, held)) {
      differences.push(
        `${place}.${name}: sent ${JSON.stringify(sent)}, held ${JSON.stringify(held)}`,
      );
    }
  }
}

function isSame(column: Column | undefined, sent: string | null, held: unknown): boolean {
  if (sent === null) return held === null || held === undefined;
  // An empty element that is no text is kept as null.
  if (column !== undefined && column.type !== 'text' && sent === '') return held === null;
  if (column?.type === 'instant') return Date.parse(String(held)) === Date.parse(sent);
  if (column?.type === 'float') return Number(held) === Number(sent);
  return held === sent;
}

async function readRows(
  client: Queryable,
  table: MirrorTable,
  moment: string | null,
): Promise<HeldRow[]> {
  const columns = table.columns.map((column) =>
    column.type === 'instant'
      ? `to_char("${column.name}" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
          AS "${column.name}"`
      : `"${column.name}"::text`,
  );
  const {rows} = await client.query(
    `SELECT extra, ${columns.join(', ')} FROM ${
      moment === null ? `warehouse."${table.name}"` : `history."${table.name}_as_of"($1)`
    } WHERE _deleted_at IS NULL`,
    moment === null ? [] : [moment],
  );
  return rows.map(({extra, ...values}) => ({
    extra,
    columns: new Map(Object.entries<string | null>(values)),
  }));
}
