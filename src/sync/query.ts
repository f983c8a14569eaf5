import {FatalError} from '../errors.ts';
import type {Stream} from '../streams/stream.ts';
import type {Sweep} from '../warehouse/sweep.ts';

/** The query that asks for the related data of a stream. */
export function includeOf(stream: Stream): Record<string, string> {
  return stream.include.length > 0 ? {include: stream.include.join(',')} : {};
}

/** The query of a sweep's list: the related data, and the filter of its window. */
export function queryOf(stream: Stream, sweep: Sweep): Record<string, string> {
  const include = includeOf(stream);
  if (sweep.windowName === null) return include;
  const filter = stream.windows[sweep.windowName];
  if (filter === undefined)
    throw new FatalError(`sweep ${sweep.sweepId}: ${stream.name} has no window "${sweep.windowName}"`);
  return {...include, ...filter};
}
