// Numbers, times, progress and tables for a person: in the same form at a terminal, in a log, in a
// mail and on a page.

import {countColumns, foldWords} from './text.ts';

/** Formats 1234567.5 as 1,234,567.5, without Intl: its locale data take 15 ms to load. */
export function formatNumber(value: number): string {
  const [whole = '', fraction] = String(Math.round(value * 10) / 10).split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
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

/** How long something took; below ten seconds to the tenth of a second: `2.1 s`. */
export function formatElapsed(ms: number): string {
  return ms < 9_950 ? `${formatNumber(ms / 1000)} s` : formatDuration(ms);
}

/** The largest unit alone, for a column without room for more: `3 h`. */
export function formatRoughly(ms: number): string {
  const [number, unit] = formatDuration(Math.max(0, ms)).split(' ');
  return `${number} ${unit}`;
}

/** `2026-11-02 08:15 UTC` */
export function formatMinute(instant: string): string {
  return `${instant.slice(0, 16).replace('T', ' ')} UTC`;
}

/** `2026-11-02 08:15:30 UTC` */
export function showSecond(instant: string): string {
  return `${instant.slice(0, 19).replace('T', ' ')} UTC`;
}

/** `in 3 min 20 s` @param now - by the same clock as the instant */
export function formatAhead(instant: string, now: string): string {
  return `in ${formatDuration(Math.max(0, Date.parse(instant) - Date.parse(now)))}`;
}

/** `3 min 20 s` @param now - by the same clock as the instant */
export function formatAge(instant: string, now: string): string {
  return formatDuration(Math.max(0, Date.parse(now) - Date.parse(instant)));
}

/**
 * `3 min 20 s ago`
 * @param now - by the same clock as the instant; this machine's time if left out
 */
export function formatAgo(instant: string, now = new Date().toISOString()): string {
  return `${formatAge(instant, now)} ago`;
}

/** The most characters of one value that a person sees; JSON has all of them. */
const longest = 2_000;

/** A value as a person reads it: text in quotes, so that blanks and emptiness show. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return '(empty)';
  const text = JSON.stringify(value);
  if (text.length <= longest) return text;
  return `${text.slice(0, longest)}… (${formatNumber(text.length)} characters; --json prints all)`;
}

/** The state of work that has a beginning and an end. */
interface Pace {
  readonly done: number;
  /** Null if it is unknown. */
  readonly total: number | null;
  /** Null as long as there is too little to measure by. */
  readonly perSecond: number | null;
  /** Null if the rate or the total is unknown, or if at least the expected total is done. */
  readonly leftMs: number | null;
}

/** A rate that was measured for less is a guess. */
const measuredMs = 1_000;

/** @param elapsedMs - since the work began with nothing done */
export function paceOf({
  done,
  total,
  elapsedMs,
}: {
  readonly done: number;
  readonly total: number | null;
  readonly elapsedMs: number;
}): Pace {
  const perSecond = done === 0 || elapsedMs < measuredMs ? null : (done * 1_000) / elapsedMs;
  const isOpen = total !== null && total > done;
  return {
    done,
    total,
    perSecond,
    leftMs: isOpen && perSecond !== null ? ((total - done) * 1_000) / perSecond : null,
  };
}

/**
 * `1,500 of about 3,000 records, 310 a second, 5 s left` @param isExact - the total is known, not
 * guessed
 */
export function describePace(
  {done, total, perSecond, leftMs}: Pace,
  {things, isExact = false}: {readonly things: string; readonly isExact?: boolean},
): string {
  const doneText =
    total === null
      ? `${formatNumber(done)} ${things} so far`
      : `${formatNumber(done)} of ${isExact ? '' : 'about '}${formatNumber(total)} ${things}`;
  const rate = perSecond === null ? [] : [describeRate(perSecond)];
  const timeLeft = leftMs === null ? [] : [`${formatDuration(Math.max(1_000, leftMs))} left`];
  return [doneText, ...rate, ...timeLeft].join(', ');
}

/** `310 a second`; of slow work `12 a minute`. */
export function describeRate(perSecond: number): string {
  if (perSecond >= 2) return `${formatNumber(Math.round(perSecond))} a second`;
  return `${formatNumber(Math.max(1, Math.round(perSecond * 60)))} a minute`;
}

/** One piece of work in progress, in words. */
export interface WorkInProgress {
  readonly account: string;
  readonly text: string;
  readonly pace: Pace;
}

// Intervals as a person writes them, in settings, options and forms: 30s, 5m, 4h, 2d.

const units = {ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000} as const;
export const intervalPattern = /^([1-9]\d{0,15})(ms|s|m|h|d)$/;

/** @returns milliseconds; null if the text is not an interval, or one too long to be exact */
export function parseInterval(text: string): number | null {
  const [, number, unit] = intervalPattern.exec(text) ?? [];
  const ms = Number(number) * units[unit as keyof typeof units];
  return Number.isSafeInteger(ms) ? ms : null;
}

/** In the largest unit that divides it: 300,000 becomes 5m. */
export function formatInterval(ms: number): string {
  const [unit = 'ms', size = 1] =
    Object.entries(units).findLast(([, unitMs]) => ms % unitMs === 0) ?? [];
  return `${ms / size}${unit}`;
}

export function isWholeDays(ms: number): boolean {
  return ms % units.d === 0;
}

/** Whether a text such as 2026-02-28 is a day that exists: 2026-02-30 does not. */
export function isCalendarDay(text: string): boolean {
  const parsed = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
}

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
