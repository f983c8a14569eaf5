import pg from 'pg';
import {showSecond} from '../core/format.ts';
import {maskedColumn} from './member.ts';
import type {Question} from './question.ts';

/** A question, the account it is about, and the moment. */
export interface Asked {
  readonly question: Question;
  readonly accountKey: string;
  /** Null is the present. */
  readonly moment: string | null;
  /** Whether the keys of people stand in place of their names. */
  readonly isMasked: boolean;
}

export interface Answer {
  readonly json: {
    readonly columns: readonly string[];
    readonly rows: readonly Readonly<Record<string, unknown>>[];
    readonly isCutOff: boolean;
  };
  /** The same for a person: names of columns, and what stands in the cells. */
  readonly drawn: {
    readonly head: readonly string[];
    readonly cells: readonly (readonly string[])[];
    /** Places of the columns that hold numbers. */
    readonly numbers: readonly number[];
  };
}

/** The statement that anybody may run who may read `mart`. */
export function sqlOf({question, accountKey, moment, isMasked}: Asked): string {
  const columns = columnsOf(question, isMasked).join(', ');
  const source =
    moment === null
      ? `mart.${question.name}`
      : `mart.${question.name}_as_of(${pg.escapeLiteral(moment)})`;
  return `SELECT ${columns} FROM ${source} WHERE account_key = ${accountKey} ORDER BY ${question.order}`;
}

/** The columns of an answer that are shown: neither the account, which was asked for, nor keys. */
function columnsOf({columns}: Question, isMasked: boolean): string[] {
  return columns
    .filter(([name]) => !name.endsWith('_key'))
    .map((column) => (isMasked ? maskedColumn(column) : column[0]));
}

/** Reads an answer, up to so many rows. */
export async function readAnswer(
  client: pg.ClientBase,
  asked: Asked,
  limit: number,
): Promise<Answer> {
  const {fields, rows} = await client.query<(string | null)[]>({
    text: `${sqlOf(asked)} LIMIT ${limit + 1}`,
    rowMode: 'array',
    types: {getTypeParser: () => (value: string) => value},
  } as pg.QueryArrayConfig);
  const shown = rows.slice(0, limit);
  const isCutOff = rows.length > limit;
  const columns = fields.map(({name}) => name);
  const kinds = fields.map(({name, dataTypeID}) => kindOf(name, dataTypeID));
  const json = shown.map((row) =>
    Object.fromEntries(row.map((value, at) => [columns[at], toJson(value, kinds[at])])),
  );
  const places = kinds.map((kind, at) =>
    kind === 'amount' ? Math.max(0, ...shown.map((row) => placesOf(row[at]))) : 0,
  );
  const cells = shown.map((row) => row.map((value, at) => show(value, kinds[at], places[at])));
  const head = columns.map((name) => name.replaceAll('_', ' '));
  const numbers = kinds.flatMap((kind, at) =>
    kind === 'whole' || kind === 'number' || kind === 'amount' ? [at] : [],
  );
  return {json: {columns, rows: json, isCutOff}, drawn: {head, cells, numbers}};
}

type Kind = 'whole' | 'number' | 'amount' | 'truth' | 'moment' | 'words';

/** The number of a job is its name: it is not grouped. */
function kindOf(name: string, typeId: number): Kind {
  const {INT2, INT4, INT8, NUMERIC, FLOAT8, BOOL, TIMESTAMPTZ} = pg.types.builtins;
  if ([INT2, INT4, INT8].includes(typeId)) return name.endsWith('_number') ? 'number' : 'whole';
  if ([NUMERIC, FLOAT8].includes(typeId)) return 'amount';
  if (typeId === TIMESTAMPTZ) return 'moment';
  return typeId === BOOL ? 'truth' : 'words';
}

/** Amounts stay texts, for a number of JSON would not hold them exactly. */
function toJson(value: string | null, kind: Kind | undefined): unknown {
  if (value === null) return null;
  if (kind === 'whole' || kind === 'number') return Number(value);
  return kind === 'truth' ? value === 't' : value;
}

/** @param places - decimals of the column: an amount gets zeros up to them */
function show(value: string | null, kind: Kind | undefined, places = 0): string {
  if (value === null) return '';
  if (kind === 'truth') return value === 't' ? 'yes' : 'no';
  if (kind === 'moment') return showSecond(value);
  return kind === 'whole' || kind === 'amount' ? group(value, places) : value;
}

const placesOf = (value: string | null | undefined) => value?.split('.')[1]?.length ?? 0;

/** 1234567.5 with two places becomes 1,234,567.50: no digit is lost. */
function group(number: string, places: number): string {
  const [whole = '', fraction = ''] = number.split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return places === 0 ? grouped : `${grouped}.${fraction.padEnd(places, '0')}`;
}
