// The values of an answer, for a program and for a person, and its rows as CSV.

import type {Writable} from 'node:stream';
import pg from 'pg';
import {type CopyToStreamQuery, to as copyTo} from 'pg-copy-streams';
import {showSecond} from '../core/format.ts';
import {formulaStart} from '../core/text.ts';

/** An answer for a person: the names of the columns, and the texts of the cells. */
export interface FormattedAnswer {
  readonly head: readonly string[];
  readonly cells: readonly (readonly string[])[];
  /** Places of the columns that hold numbers. */
  readonly numbers: readonly number[];
  /** Rows below the others: the total, and that of the days before. */
  readonly foot: readonly (readonly string[])[];
}

/** By column: a number of whole things, or an amount as a text, exact. */
export type Sums = Readonly<Record<string, unknown>>;

/** Values by column, as Postgres writes them. */
export type Texts = ReadonlyMap<string, string | null | undefined>;

type ColumnKind = 'whole' | 'number' | 'amount' | 'truth' | 'moment' | 'words';

/** The number of a job is its name, so its digits are not grouped. */
export function findColumnKind(name: string, typeId: number): ColumnKind {
  const {INT2, INT4, INT8, NUMERIC, FLOAT8, BOOL, TIMESTAMPTZ} = pg.types.builtins;
  if ([INT2, INT4, INT8].includes(typeId)) return name.endsWith('_number') ? 'number' : 'whole';
  if ([NUMERIC, FLOAT8].includes(typeId)) return 'amount';
  if (typeId === TIMESTAMPTZ) return 'moment';
  return typeId === BOOL ? 'truth' : 'words';
}

/** Amounts stay texts, because a number of JSON would not hold them exactly. */
export function toAnswerValue(value: string | null, kind: ColumnKind | undefined): unknown {
  if (value === null) return null;
  if (kind === 'whole' || kind === 'number') return Number(value);
  return kind === 'truth' ? value === 't' : value;
}

/** @param decimals - decimals of the column: an amount gets zeros up to them */
function formatValue(value: string | null, kind: ColumnKind | undefined, decimals = 0): string {
  if (value === null) return '';
  if (kind === 'truth') return value === 't' ? 'yes' : 'no';
  if (kind === 'moment') return showSecond(value);
  return kind === 'whole' || kind === 'amount' ? groupDigits(value, decimals) : value;
}

const countDecimals = (value: string | null | undefined) => value?.split('.')[1]?.length ?? 0;

/** 1234567.5 with two places becomes 1,234,567.50: no digit is lost. */
function groupDigits(number: string, decimals: number): string {
  const [integerPart = '', fraction = ''] = number.split('.');
  const grouped = integerPart.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return decimals === 0 ? grouped : `${grouped}.${fraction.padEnd(decimals, '0')}`;
}

interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** An answer for a person: each column has as many decimals as its longest number. */
export function formatRows(
  columns: readonly Column[],
  {
    rows,
    total,
    before,
  }: {
    readonly rows: readonly (readonly (string | null)[])[];
    readonly total: Texts | null;
    readonly before: Texts | null;
  },
): FormattedAnswer {
  const footRows = [...Object.entries({total, before})].flatMap(([label, texts]) =>
    texts === null ? [] : [{label, texts}],
  );
  const decimals = columns.map(({name, kind}, index) =>
    kind === 'amount'
      ? Math.max(
          0,
          ...rows.map((row) => countDecimals(row[index])),
          ...footRows.map(({texts}) => countDecimals(texts.get(name))),
        )
      : 0,
  );
  // A column that adds up has its sum there, so the label is in the first column that does not.
  const labelColumn = columns.findIndex(({name}) => footRows.every(({texts}) => !texts.has(name)));
  return {
    head: columns.map(({name}) => name.replaceAll('_', ' ')),
    cells: rows.map((row) =>
      row.map((value, index) => formatValue(value, columns[index]?.kind, decimals[index])),
    ),
    numbers: columns.flatMap(({kind}, index) =>
      kind === 'whole' || kind === 'number' || kind === 'amount' ? [index] : [],
    ),
    foot: footRows.map(({label, texts}) =>
      columns.map(({name, kind}, index) =>
        index === labelColumn ? label : formatValue(texts.get(name) ?? null, kind, decimals[index]),
      ),
    ),
  };
}

/** The longest time that a timer can count, in milliseconds. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Passes on what a `COPY … TO STDOUT` sends. If a part cannot be taken, the rest is read all the
 * same: before its end the session can do nothing else.
 * @returns how many rows
 */
export async function readCopy(
  client: pg.ClientBase,
  sql: string,
  take: (part: Buffer) => Promise<void>,
): Promise<number> {
  const rows = openCopy(client, sql);
  let failure: unknown = null;
  for await (const part of rows) {
    if (failure !== null) continue;
    await take(part).catch((error: unknown) => {
      failure = error;
    });
  }
  if (failure !== null) throw failure;
  return rows.rowCount;
}

/** Writes bytes, and waits until the stream has taken them. */
export async function writePart(out: Writable, part: Uint8Array | string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    out.write(part, (error) => (error == null ? resolve() : reject(error)));
  });
}

/**
 * Begins a `COPY … TO STDOUT`. The client's time limit for an answer does not apply, because rows
 * arrive as long as they are read.
 */
function openCopy(client: pg.ClientBase, sql: string): CopyToStreamQuery {
  const rows: CopyToStreamQuery & {callback?: () => void} = Object.assign(copyTo(sql), {
    query_timeout: maxTimerMs,
  });
  client.query(rows);
  // The driver stops its timer in this callback, and a stream never calls it.
  for (const event of ['end', 'error']) rows.once(event, () => rows.callback?.());
  return rows;
}

/** Excel reads a file as UTF-8 if it begins with this mark. */
const byteOrderMark = '\uFEFF';

/**
 * Writes the rows of a statement as CSV, as Postgres makes it: no row passes through our code.
 * @returns how many rows
 * @param isForSpreadsheet - with a mark of its encoding, and an apostrophe before texts that look
 *   like a formula
 */
export async function writeCsv(
  client: pg.ClientBase,
  sql: string,
  {out, isForSpreadsheet}: {readonly out: Writable; readonly isForSpreadsheet: boolean},
): Promise<number> {
  if (isForSpreadsheet) await writePart(out, byteOrderMark);
  const source = isForSpreadsheet ? await guardFormulas(client, sql) : sql;
  const copySql = `COPY (${source}) TO STDOUT (FORMAT csv, HEADER)`;
  return await readCopy(client, copySql, (part) => writePart(out, part));
}

/**
 * The same statement, with an apostrophe before texts that a spreadsheet would run. It takes a span
 * of time below zero for a formula, too.
 */
async function guardFormulas(client: pg.ClientBase, sql: string): Promise<string> {
  const {fields} = await client.query(`SELECT * FROM (${sql}) AS described LIMIT 0`);
  const columns = fields.map(({name, dataTypeID}) => {
    const columnSql = pg.escapeIdentifier(name);
    const {TEXT, INTERVAL} = pg.types.builtins;
    if (![TEXT, INTERVAL].includes(dataTypeID)) return columnSql;
    return `CASE WHEN ${columnSql}::text ~ ${pg.escapeLiteral(formulaStart)}
                 THEN '''' || ${columnSql} ELSE ${columnSql}::text END AS ${columnSql}`;
  });
  return `SELECT ${columns.join(', ')} FROM (${sql}) AS guarded`;
}
