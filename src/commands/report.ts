import Table from 'cli-table3';
import {tell} from '../terminal.ts';

/** Rows of a table for a person: numbers to the right, no colours where nobody sees them. */
export function drawTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const isNumber = (column: number) =>
    rows.length > 0 && rows.every((row) => typeof row[column] === 'number');
  const table = new Table({
    head: [...head],
    style: {head: [], border: [], compact: true},
    colAligns: head.map((_, column) => (isNumber(column) ? 'right' : 'left')),
  });
  for (const row of rows)
    table.push(row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)));
  return table.toString();
}

/** 1234567.5 becomes 1,234,567.5 */
export function formatNumber(value: number): string {
  return value.toLocaleString('en-US', {maximumFractionDigits: 1});
}

/** How long something takes, in the two largest units: `3 h 20 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`;
  return `${Math.floor(hours / 24)} days`;
}

/** The largest unit alone, where a column has room for no more: `3 h`. */
export function formatRoughly(ms: number): string {
  const [number, unit] = formatDuration(Math.max(0, ms)).split(' ');
  return `${number} ${unit}`;
}

/** How long ago an instant is, by this machine's clock. */
export function formatAgo(instant: string): string {
  return `${formatDuration(Math.max(0, Date.now() - Date.parse(instant)))} ago`;
}

/** Prints for a person, or one JSON document for a program. */
export function print(isJson: boolean, output: {readonly json: unknown; readonly text: string}): void {
  tell(isJson ? `${JSON.stringify(output.json, null, 2)}\n` : `${output.text}\n`);
}
