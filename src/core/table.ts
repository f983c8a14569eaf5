// A table for a person, in a terminal or a mail.

import Table from 'cli-table3';
import {formatNumber} from './format.ts';

/**
 * Rows of a table for a person: numbers to the right, no colours where nobody sees them.
 * @param numbers - columns of numbers that are given as texts
 */
export function drawTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  numbers: readonly number[] = [],
): string {
  const isNumber = (column: number) =>
    numbers.includes(column) ||
    (rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  const table = new Table({
    head: [...head],
    style: {head: [], border: [], compact: true},
    colAligns: head.map((_, column) => (isNumber(column) ? 'right' : 'left')),
  });
  for (const row of rows)
    table.push(row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)));
  return table.toString();
}
