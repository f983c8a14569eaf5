import type {RowSet} from '../streams/rows.ts';
import type {Stream} from '../streams/stream.ts';
import {type EncodedRow, encodeRow} from '../warehouse/encoded-row.ts';

/** The rows that one record makes, ready for the loader. */
export interface EncodedRowSet {
  /** The record's number, as paths know it. */
  readonly number: string;
  readonly row: EncodedRow;
  /** One entry for each element of children that the record spoke of: what it did not send proves nothing. */
  readonly children: readonly {readonly element: string; readonly rows: readonly EncodedRow[]}[];
}

export function encodeRowSet(stream: Stream, {number, row, children}: RowSet): EncodedRowSet {
  return {
    number,
    row: encodeRow(stream.table, row),
    children: children.map(({element, rows}) => ({element, rows: encodeChildren(stream, element, rows)})),
  };
}

function encodeChildren(
  stream: Stream,
  element: string,
  rows: RowSet['children'][number]['rows'],
): EncodedRow[] {
  const child = stream.children.find((candidate) => candidate.element === element);
  if (child === undefined) throw new TypeError(`${stream.name} has no children in ${element}`);
  return rows.map((row) => encodeRow(child.table, row));
}
