// A table for a person, in a terminal or a mail.

import Table from 'cli-table3';
import {formatNumber} from './format.ts';
import {countColumns, foldWords} from './text.ts';
import {paint, unpaint} from './tone.ts';

/** How a table is laid out. */
interface TableLayout {
  /** Columns of numbers that are given as texts. */
  readonly numbers?: readonly number[];
  /** The width that it must not pass, in columns of a terminal; null where there is none. */
  readonly width?: number | null;
}

/** A word that is longer, such as an address, is broken where its column ends. */
const longestWord = 20;

/**
 * Rows of a table for a person: numbers to the right, marks of tone as they are. Where the width is
 * too small for it, the widest texts are folded; where that is not enough, each row is a list of
 * its cells.
 */
export function drawTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  {numbers = [], width = null}: TableLayout = {},
): string {
  const isNumber = (column: number) =>
    numbers.includes(column) ||
    (rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)),
  );
  const columns = head.map((title, column) => {
    const texts = [title, ...cells.map((row) => row[column] ?? '')];
    const width = texts.reduce((most, text) => Math.max(most, widest(text)), 0);
    return {width, least: isNumber(column) ? width : leastWidth(texts)};
  });
  const widths =
    width === null ? columns.map((column) => column.width) : fitColumns(columns, width);
  if (widths === null) return drawLists(head, cells, width ?? 0);
  const foldRow = (row: readonly string[]) =>
    row.map((cell, column) => foldCell(cell, widths[column] ?? 0));
  const table = new Table({
    head: foldRow(head),
    style: {head: [], border: [], compact: true},
    colAligns: head.map((_, column) => (isNumber(column) ? 'right' : 'left')),
  });
  // The library gives a mark room, and a colour none.
  for (const row of cells) table.push(foldRow(row).map(paint));
  return unpaint(table.toString());
}

interface Column {
  readonly width: number;
  /** The width below which it would break a word, or a number. */
  readonly least: number;
}

function leastWidth(texts: readonly string[]): number {
  const words = texts.flatMap((text) => text.split(/\s+/));
  return words.reduce((most, word) => Math.max(most, Math.min(countColumns(word), longestWord)), 1);
}

/** The width of each column, as wide as there is room for; null where there is too little. */
function fitColumns(columns: readonly Column[], width: number): number[] | null {
  const room = width - 1 - 3 * columns.length;
  const widthsAt = (most: number) =>
    columns.map((column) => Math.max(column.least, Math.min(column.width, most)));
  const sum = (widths: readonly number[]) => widths.reduce((total, each) => total + each, 0);
  let most = Math.max(1, ...columns.map((column) => column.width));
  while (most > 1 && sum(widthsAt(most)) > room) most -= 1;
  const widths = widthsAt(most);
  return sum(widths) > room ? null : widths;
}

function widest(text: string): number {
  return text.split('\n').reduce((most, line) => Math.max(most, countColumns(line)), 0);
}

/** Breaks a cell between its words, and a word that is wider than the column wherever it ends. */
function foldCell(text: string, width: number): string {
  if (widest(text) <= width) return text;
  return text
    .split('\n')
    .flatMap((line) => foldWords(line, {width, first: '', next: ''}))
    .flatMap((line) => cutAt(line, width))
    .join('\n');
}

function cutAt(text: string, width: number): string[] {
  const lines: string[] = [];
  let open = '';
  let columns = 0;
  for (const sign of text) {
    const wanted = countColumns(sign);
    if (open !== '' && columns + wanted > width) {
      lines.push(open);
      open = '';
      columns = 0;
    }
    open += sign;
    columns += wanted;
  }
  return [...lines, open];
}

function drawLists(
  head: readonly string[],
  cells: readonly (readonly string[])[],
  width: number,
): string {
  const label = Math.max(...head.map(countColumns)) + 2;
  const drawRow = (row: readonly string[]) =>
    head.flatMap((title, column) => {
      const text = row[column] ?? '';
      if (text === '') return [];
      const first = title + ' '.repeat(label - countColumns(title));
      return foldWords(text.replaceAll('\n', ' '), {width, first, next: ' '.repeat(label)});
    });
  return cells.map((row) => drawRow(row).join('\n')).join('\n\n');
}
