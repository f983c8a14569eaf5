import Table from 'cli-table3';
import {formatNumber} from '../core/format.ts';
import {tell} from '../core/text.ts';

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

/** Prints for a person, or one JSON document for a program. */
export function print(
  isJson: boolean,
  output: {readonly json: unknown; readonly text: string},
): void {
  tell(isJson ? `${JSON.stringify(output.json, null, 2)}\n` : `${output.text}\n`);
}
