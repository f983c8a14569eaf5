// A table for a person, in a terminal or a mail.

import {formatNumber} from './format.ts';
import {countColumns, foldWords} from './text.ts';

/** How a table is laid out. */
interface TableLayout {
  /** Columns of numbers that are given as texts. */
  readonly numbers?: readonly number[];
  /** The width that it must not exceed, in columns of a terminal; null for no limit. */
  readonly width?: number | null;
}

/** A longer word, such as an address, may be broken where its column ends. */
const longestWord = 20;

/**
 * Formats a table for a person: numbers are aligned to the right, marks of tone stay as they are.
 * If the width is too small, the widest texts are folded. If that is not enough, each row becomes a
 * list of its cells.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  {numbers = [], width = null}: TableLayout = {},
): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)),
  );
  const columns = head.map((title, column): Column => {
    const isNumber =
      numbers.includes(column) ||
      (rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
    const texts = [title, ...cells.map((row) => row[column] ?? '')];
    const width = widestOf(texts);
    return {isNumber, width, least: isNumber ? width : leastWidth(texts)};
  });
  const fitted = width === null ? columns : fitColumns(columns, width);
  return fitted === null
    ? formatLists(head, cells, width ?? 0)
    : formatGrid([head, ...cells], fitted);
}

interface Column {
  readonly isNumber: boolean;
  readonly width: number;
  /** The width below which it would break a word, or a number. */
  readonly least: number;
}

function leastWidth(texts: readonly string[]): number {
  const words = texts.flatMap((text) => text.split(/\s+/));
  return words.reduce((most, word) => Math.max(most, Math.min(countColumns(word), longestWord)), 1);
}

/** @param rows - the first one is the head */
function formatGrid(rows: readonly (readonly string[])[], columns: readonly Column[]): string {
  const folded = rows.map((row) =>
    columns.map(({width}, column) => foldCell(row[column] ?? '', width)),
  );
  // Folded cells may be narrower than their column was.
  const tight = columns.map((layout, column) => ({
    ...layout,
    width: widestOf(folded.map((row) => row[column] ?? '')),
  }));
  const rule = (left: string, joint: string, right: string) =>
    left + tight.map(({width}) => '─'.repeat(width + 2)).join(joint) + right;
  const [head = [], ...body] = folded.map((row) => formatRow(row, tight));
  const middle = body.length === 0 ? [] : [rule('├', '┼', '┤'), ...body.flat()];
  return [rule('┌', '┬', '┐'), ...head, ...middle, rule('└', '┴', '┘')].join('\n');
}

/** The lines of a row, as many as its longest cell has. */
function formatRow(row: readonly string[], columns: readonly Column[]): string[] {
  const cells = row.map((cell) => cell.split('\n'));
  const height = Math.max(...cells.map(({length}) => length));
  return Array.from({length: height}, (_, line) => {
    const texts = columns.map(({isNumber, width}, column) => {
      const text = cells[column]?.[line] ?? '';
      const blanks = ' '.repeat(width - countColumns(text));
      return isNumber ? blanks + text : text + blanks;
    });
    return `│ ${texts.join(' │ ')} │`;
  });
}

/** The columns, as wide as the room allows; null if there is too little. */
function fitColumns(columns: readonly Column[], width: number): Column[] | null {
  const room = width - 1 - 3 * columns.length;
  const widthAt = (most: number) => (column: Column) =>
    Math.max(column.least, Math.min(column.width, most));
  const sumAt = (most: number) =>
    columns.map(widthAt(most)).reduce((total, columnWidth) => total + columnWidth, 0);
  let most = Math.max(1, ...columns.map((column) => column.width));
  while (most > 1 && sumAt(most) > room) most -= 1;
  if (sumAt(most) > room) return null;
  return columns.map((column) => ({...column, width: widthAt(most)(column)}));
}

function widestOf(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, widest(text)), 0);
}

function widest(text: string): number {
  return text.split('\n').reduce((most, line) => Math.max(most, countColumns(line)), 0);
}

/**
 * Breaks a cell between its words, and a word that is wider than the column at the column's end.
 */
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
  let line = '';
  let columns = 0;
  for (const character of text) {
    const needed = countColumns(character);
    if (line !== '' && columns + needed > width) {
      lines.push(line);
      line = '';
      columns = 0;
    }
    line += character;
    columns += needed;
  }
  return [...lines, line];
}

function formatLists(
  head: readonly string[],
  cells: readonly (readonly string[])[],
  width: number,
): string {
  const labelWidth = Math.max(...head.map(countColumns)) + 2;
  const formatList = (row: readonly string[]) =>
    head.flatMap((title, column) => {
      const text = row[column] ?? '';
      if (text === '') return [];
      const first = title + ' '.repeat(labelWidth - countColumns(title));
      return foldWords(text.replaceAll('\n', ' '), {width, first, next: ' '.repeat(labelWidth)});
    });
  return cells.map((row) => formatList(row).join('\n')).join('\n\n');
}
