// Rows cross threads packed: whatever goes in comes out, and the message does not grow with their
// number.

import {expect, test} from 'vitest';
import {jobs} from '../../src/streams/jobs.ts';
import type {RowSet} from '../../src/streams/record-rows.ts';
import type {Stream} from '../../src/streams/stream.ts';
import type {MirrorTable, Row} from '../../src/streams/table.ts';
import {tasks} from '../../src/streams/team.ts';
import {buffersOf, encodeRow, RowPacker, unpackRows} from '../../src/sweeps/packed-rows.ts';

const page = 3;
let last = 0;

function rowOf(table: MirrorTable, text: string): Row {
  const values = table.columns.map(({name, type}) => {
    if (table.key.includes(name)) return String(++last);
    return type === 'text' ? text : null;
  });
  return {key: String(last), values, attributes: '{}', hash: String(last).padStart(32, '0')};
}

/** A job with so many children of each kind; null where their element was not sent. */
function jobOf(number: string, counts: readonly (number | null)[]): RowSet {
  const children = jobs.children.flatMap(({element, table}, kind) => {
    const count = counts[kind] ?? null;
    return count === null
      ? []
      : [{element, rows: Array.from({length: count}, () => rowOf(table, 'Zoë\t😀'))}];
  });
  return {number, row: rowOf(jobs.table, 'a name'), children};
}

function pack(stream: Stream, records: ReadonlyMap<number, RowSet>) {
  const packer = new RowPacker(stream, page);
  for (const [at, rowSet] of records) packer.add(at, rowSet);
  return packer.pack();
}

/** The rows as they would be without packing. */
function encode(stream: Stream, {number, row, children}: RowSet) {
  return {
    number,
    row: encodeRow(stream.table, row, page),
    children: children.map(({element, rows}) => {
      const child = stream.children.find((one) => one.element === element);
      return {element, rows: rows.map((one) => encodeRow(child?.table ?? stream.table, one, page))};
    }),
  };
}

test('rows are unpacked as they were packed', () => {
  const records = new Map([
    [0, jobOf('12', [1, 2, 3, 4, 5, 6, 7])],
    [3, jobOf('13', [0, null, 2])],
    [4, jobOf('14', [])],
    [7, jobOf('15', [null, 1, null, 1, null, 1])],
  ]);
  const expected = [...records].map(([at, rowSet]) => ({at, rowSet: encode(jobs, rowSet)}));
  expect(unpackRows(jobs, pack(jobs, records))).toEqual(expected);
});

test('pages packed one after the other keep their lines, even very long ones', () => {
  const long = {number: '1', row: rowOf(tasks.table, 'é'.repeat(1_000_000)), children: []};
  const packed = ['1', '2'].map(() => pack(tasks, new Map([[0, long]])));
  const short = pack(tasks, new Map([[0, {...long, row: rowOf(tasks.table, 'short')}]]));
  for (const one of packed)
    expect(unpackRows(tasks, one)).toEqual([{at: 0, rowSet: encode(tasks, long)}]);
  expect(unpackRows(tasks, short)[0]?.rowSet.row.line.includes('short')).toBe(true);
});

test('a page without rows is packed as well', () => {
  expect(unpackRows(jobs, pack(jobs, new Map()))).toEqual([]);
});

test('rows cross threads in three buffers, which are transferred and not copied', () => {
  const packed = pack(jobs, new Map([[0, jobOf('1', [2, 2])]]));
  const received = structuredClone(packed, {transfer: buffersOf(packed)});
  expect(packed.lines.length).toBe(0);
  expect(buffersOf(received)).toHaveLength(3);
  expect(buffersOf(undefined)).toEqual([]);
});
