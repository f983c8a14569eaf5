import {encodeCopyRow} from '../postgres/sql.ts';
import type {EncodedRow, MirrorTable, Row} from '../streams/table.ts';
import {findColumn} from './table-sql.ts';

/** With a leading zero or sign: other integers are normal already. */
const integer = /^(?:[+-]\d+|0\d+)$/;

/** The key of a row as one text. */
export function keyText({key}: EncodedRow): string {
  return key.join(':');
}

/** A row as COPY takes it. @throws {TypeError} as `encodeLine` does */
export function encodeRow(table: MirrorTable, row: Row, page: number | null = null): EncodedRow {
  const {line, ...encoded} = encodeLine(table, row, page);
  return {...encoded, line: Buffer.from(line)};
}

/**
 * A row with its line as a text.
 * @param page - the page on which the row's record stood; null when it was asked for by its number
 * @throws {TypeError} a row without its key, which would never be found again
 */
export function encodeLine(
  table: MirrorTable,
  row: Row,
  page: number | null,
): Pick<EncodedRow, 'key' | 'hash'> & {readonly line: string} {
  const {values, attributes, hash} = row;
  const key = table.key.map((name) => {
    const value = values[findColumn(table, name).at] ?? null;
    if (value === null)
      throw new TypeError(`${table.name}.${name}: a row from the service needs its key`);
    // `007` and `7` are two texts and one bigint.
    return integer.test(value) ? BigInt(value).toString() : value;
  });
  return {
    key,
    hash,
    line: encodeCopyRow([...values, attributes, `\\x${hash}`, page === null ? null : String(page)]),
  };
}
