import {hash} from 'node:crypto';
import type {MirrorTable} from './mirror-table.ts';
import type {Child, Stream} from './stream.ts';

/**
 * Counts up when the same definition makes other rows than before: a rule of reading changed, not a
 * field.
 */
const RULES = 1;

/**
 * Fingerprint of a stream's definition and of the rules it is read by, as int4; comments do not
 * matter.
 */
export function makeShape(stream: Stream): number {
  const {name, key, table, children, ignored, derived} = stream;
  const definition = [
    RULES,
    name,
    key,
    describeTable(table),
    children.map(describeChild),
    ignored,
    derived,
  ];
  return hash('sha256', JSON.stringify(definition), 'buffer').readInt32BE(0);
}

function describeTable({name, key, columns}: MirrorTable): unknown[] {
  return [name, key, columns.map((column) => [column.name, column.type])];
}

function describeChild({
  element,
  item,
  table,
  parentColumns,
  renamed,
  isLink,
  isOwned,
}: Child): unknown[] {
  return [
    element,
    item,
    describeTable(table),
    parentColumns,
    renamed ?? {},
    isLink ?? false,
    isOwned,
  ];
}
