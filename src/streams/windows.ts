// A window is the part of a list that a filter lets through: fresh data between full sweeps. It is
// named by a word that the specification has for a filter's value (`next_week`), by the filter
// itself (`scheduled=next_week`), or by several of them, as an address has them:
// `scheduled=next_week&employee_number=3`. One window has one name, so that no two sweeps of the
// same thing are under way at once. One window of every stream has no filter: the whole list, read
// once.

import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {isId} from '../core/text.ts';
import type {Filter, Stream} from './stream.ts';

/**
 * The spans of time that lists of jobs and tasks can be asked for. @see docs/service.md "Filters"
 */
export const spans: Filter = [
  ...['today', 'tomorrow', 'yesterday'],
  ...['this_week', 'next_week', 'last_week'],
  ...['this_month', 'next_month', 'last_month'],
];

/**
 * The window that lets everything through. It is one pass where a full sweep is two or more: a
 * fresh look at a list that no filter narrows, at half the requests, and no proof.
 */
export const wholeList = 'whole_list';

/** The query of a window. */
export type Window = Readonly<Record<string, string>>;

/** The windows of a stream that a word names. */
export function listWindows({
  windows,
  filters,
}: Pick<Stream, 'windows' | 'filters'>): Record<string, Window> {
  const named = Object.entries(filters).flatMap(([filter, values]) =>
    typeof values === 'string' || values.includes('true')
      ? []
      : values.map((value) => [value, {[filter]: value}] as const),
  );
  return {...Object.fromEntries(named), ...windows};
}

/**
 * The query that a window's name stands for, as sync.schedules and sync.sweeps keep it.
 * @throws {UsageError} the stream has no such window, no such filter, or the filter takes no such
 *   value
 */
export function readWindow(stream: Stream, name: string): Window {
  return toWindow(
    stream,
    name.split('&').map((term) => decodeURIComponent(term.replaceAll('+', ' '))),
  );
}

/**
 * The one name of a window. @param terms - words, and filters as `name=value` @throws {UsageError}
 * as `readWindow`
 */
export function nameWindow(stream: Stream, terms: readonly string[]): string {
  const window = toWindow(stream, terms);
  const query = Object.keys(stream.filters).flatMap((filter): [string, string][] => {
    const value = window[filter];
    return value === undefined ? [] : [[filter, value]];
  });
  const [first, ...others] = query;
  if (first === undefined) return wholeList;
  const words = Object.entries(listWindows(stream));
  const word = words.find(([, {[first[0]]: value}]) => value === first[1])?.[0];
  if (word !== undefined && others.length === 0) return word;
  return new URLSearchParams(query).toString();
}

function toWindow(stream: Stream, terms: readonly string[]): Window {
  const window: Record<string, string> = {};
  for (const [filter, value] of terms.flatMap((term) => Object.entries(readTerm(stream, term)))) {
    const given = window[filter];
    if (given !== undefined && given !== value)
      throw new UsageError(
        `${stream.name}, filter ${filter}: expected it once, ` +
          `got ${JSON.stringify(given)} and ${JSON.stringify(value)}`,
      );
    window[filter] = value;
  }
  return window;
}

function readTerm(stream: Stream, term: string): Window {
  const at = term.indexOf('=');
  if (at !== -1) return readFilter(stream, {name: term.slice(0, at), value: term.slice(at + 1)});
  if (term === wholeList) return {};
  const windows = listWindows(stream);
  if (Object.hasOwn(windows, term)) return windows[term] ?? {};
  const known = [...Object.keys(windows), wholeList];
  const filters = Object.keys(stream.filters);
  const choice = `there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
  const more =
    filters.length > 0 ? `; its filters are ${filters.join(', ')}: --filter ${filters[0]}=…` : '';
  throw new UsageError(
    `${stream.name} has no window ${JSON.stringify(term)}${nearest(term, known)}; ${choice}${more}`,
  );
}

function readFilter(
  {name: stream, filters}: Stream,
  {name, value}: {readonly name: string; readonly value: string},
): Window {
  const known = Object.keys(filters);
  const takes = Object.hasOwn(filters, name) ? filters[name] : undefined;
  if (takes === undefined) {
    const choice = known.length > 0 ? `there are ${known.join(', ')}` : 'it has none';
    throw new UsageError(
      `${stream} has no filter ${JSON.stringify(name)}${nearest(name, known)}; ${choice}`,
    );
  }
  const got = `got ${JSON.stringify(value)}`;
  const thing = `${stream}, filter ${name}`;
  if (typeof takes !== 'string' && !takes.includes(value))
    throw new UsageError(
      `${thing}: expected one of ${takes.join(', ')}, ${got}${nearest(value, takes)}`,
    );
  if (takes === 'number' && !isId(value))
    throw new UsageError(`${thing}: expected a number, ${got}`);
  if (value === '') throw new UsageError(`${thing}: expected a text, got none`);
  return {[name]: value};
}
