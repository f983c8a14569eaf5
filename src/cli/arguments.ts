// Arguments are read here, so that a wrong one is told with the usage, before a verb's code is
// loaded.

import {InvalidArgumentError} from 'commander';

/** Collects the words of an option that may be repeated. */
export function addWord(word: string, words: readonly string[]): readonly string[] {
  return [...words, word];
}

export function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a port, 0 to 65535 (0: any free one)');
}

/** Segments that no router takes for a pattern, and no client writes in another way. */
export function readBasePath(text: string): string {
  if (/^(\/[\w-]+)*\/?$/.test(text)) return text.replace(/\/$/, '');
  throw new InvalidArgumentError(
    'expected a path such as /acme: letters, digits, - and _ between slashes',
  );
}

export function readCount(text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number from 1 on');
}

const unitMs: Readonly<Record<string, number>> = {s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000};

/** `90s`, `5m`, `4h`, `2d` @returns milliseconds */
export function readSpan(text: string): number {
  const [, number = '', unit = ''] = /^([1-9]\d{0,4})([smhd])$/.exec(text) ?? [];
  if (number !== '') return Number(number) * (unitMs[unit] ?? 1);
  throw new InvalidArgumentError('expected a span such as 30s, 5m, 4h or 2d');
}

/** To the minute at least, with its offset. */
const instantShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/;

/** A moment since which something was done: a span before now, or an instant. */
export type Since = {readonly within: string} | {readonly since: string};

/** `2h` or `2027-03-14T09:30:00Z` */
export function readSince(text: string): Since {
  if (/^[1-9]\d{0,4}[smhd]$/.test(text)) return {within: `${readSpan(text) / 1_000} seconds`};
  if (instantShape.test(text) && !Number.isNaN(Date.parse(text))) return {since: text};
  throw new InvalidArgumentError(
    'expected a span such as 30m, 2h or 3d, or an instant with its offset such as 2027-03-14T09:30:00Z',
  );
}

/** The number of a transaction. */
export function readNumber(text: string): string {
  if (/^[1-9]\d{0,17}$/.test(text)) return text;
  throw new InvalidArgumentError('expected a number');
}
