import {FatalError} from '../core/errors.ts';
import type {Stream} from '../streams/stream.ts';
import {readWindow, type Window} from '../streams/windows.ts';
import type {SweepTarget} from './sweep.ts';

/** The query that asks for the related data of a stream. */
export function includeOf(stream: Stream): Record<string, string> {
  return stream.include.length > 0 ? {include: stream.include.join(',')} : {};
}

/** The query of a sweep's first pass: the related data, and the filter of its window. */
export function queryOf(
  stream: Stream,
  {windowName}: Pick<SweepTarget, 'windowName'>,
): Record<string, string> {
  const include = includeOf(stream);
  if (windowName === null) return include;
  return {...include, ...readScheduled(stream, windowName)};
}

/** A command has checked its window; a schedule is a row that SQL may have written. */
function readScheduled(stream: Stream, windowName: string): Window {
  try {
    return readWindow(stream, windowName);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new FatalError(`${why}; mend window_name in sync.schedules`, {cause});
  }
}

/**
 * The query of a sweep's second pass: the numbers alone, where the list can be asked for single
 * fields.
 */
export function keyQueryOf(stream: Stream): Record<string, string> {
  return stream.takesOnly ? {only: stream.key} : {};
}

/** The path of one record. */
export function pathOf(stream: Stream, number: string): string {
  return `${stream.path.replace(/\.xml$/, '')}/${number}.xml`;
}
