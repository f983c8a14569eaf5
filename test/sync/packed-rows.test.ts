// Rows cross threads packed: whatever goes in comes out, and the message does not grow with their number.

import {expect, test} from 'vitest';
import {jobs} from '../../src/streams/jobs.ts';
import {tasks} from '../../src/streams/tasks.ts';
import {buffersOf, type PlacedRowSet, packRows, unpackRows} from '../../src/sync/load/packed-rows.ts';
import type {EncodedRow} from '../../src/warehouse/rows/encoded-row.ts';
import type {MirrorTable} from '../../src/warehouse/rows/mirror-table.ts';

let last = 0;

function rowOf(table: MirrorTable, text: string): EncodedRow {
  const key = table.key.map(() => String(++last));
  return {key, hash: String(last).padStart(32, '0'), line: Buffer.from(`${text}\n`)};
}

/** A job with so many children of each kind; null where their element was not sent. */
function jobOf(at: number, counts: readonly (number | null)[]): PlacedRowSet {
  const children = jobs.children.flatMap(({element, table}, kind) => {
    const count = counts[kind] ?? null;
    if (count === null) return [];
    return [
      {element, rows: Array.from({length: count}, (_, n) => rowOf(table, `${element} ${n} é\u{1f600}`))},
    ];
  });
  return {at, rowSet: {number: String(1000 + at), row: rowOf(jobs.table, `job ${at}`), children}};
}

test('rows come out as they went in', () => {
  const records = [
    jobOf(0, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    jobOf(3, [0, null, 2]),
    jobOf(4, []),
    jobOf(7, [null, 1, null, 1, null, 1, null, 1]),
  ];
  expect(unpackRows(jobs, packRows(jobs, records))).toEqual(records);
});

test('no row is a message as well', () => {
  expect(unpackRows(jobs, packRows(jobs, []))).toEqual([]);
  const records = [{at: 2, rowSet: {number: '5', row: rowOf(tasks.table, ''), children: []}}];
  expect(unpackRows(tasks, packRows(tasks, records))).toEqual(records);
});

test('they cross in three buffers, given away and not copied', () => {
  const packed = packRows(jobs, [jobOf(0, [2, 2])]);
  const received = structuredClone(packed, {transfer: buffersOf(packed)});
  expect(packed.lines.length).toBe(0);
  expect(buffersOf(received)).toHaveLength(3);
  expect(buffersOf(undefined)).toEqual([]);
});
