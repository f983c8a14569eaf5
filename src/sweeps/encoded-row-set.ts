import type {FieldRecord} from '../api/xml-record.ts';
import {encodeRow} from '../rows/encoded-row.ts';
import type {RowSet} from '../streams/record-rows.ts';
import type {EncodedRow, HeldValues} from '../streams/row.ts';
import type {Child, Stream} from '../streams/stream.ts';
import {recallRow} from '../streams/unsaid-parts.ts';

/** The rows that one record makes, ready for the loader. */
export interface EncodedRowSet {
  /** The record's number, as paths know it. */
  readonly number: string;
  readonly row: EncodedRow;
  /**
   * One entry for each element of children that the record sent: an element left out proves
   * nothing.
   */
  readonly children: readonly {readonly element: string; readonly rows: readonly EncodedRow[]}[];
}

/**
 * The rows of a record that was asked for by its number: values its document left out stay as held.
 */
export function encodeShown(stream: Stream, rowSet: RowSet, record: FieldRecord): EncodedRowSet {
  const {row} = rowSet;
  const recall = (held: HeldValues) =>
    encodeRow(stream.table, recallRow(stream, {row, record}, held));
  const encoded = encodeRowSet(stream, rowSet);
  return {...encoded, row: {...encoded.row, recall}};
}

function encodeRowSet(stream: Stream, {number, row, children}: RowSet): EncodedRowSet {
  return {
    number,
    row: encodeRow(stream.table, row),
    children: children.map(({element, rows}) => {
      const {table} = findChild(stream, element);
      return {element, rows: rows.map((child) => encodeRow(table, child))};
    }),
  };
}

function findChild(stream: Stream, element: string): Child {
  const child = stream.children.find((candidate) => candidate.element === element);
  if (child === undefined) throw new TypeError(`${stream.name} has no children in ${element}`);
  return child;
}
