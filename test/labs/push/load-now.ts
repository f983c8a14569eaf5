import type pg from 'pg';
import {allStreams} from '../../../src/streams/all.ts';
import type {PageReader} from '../../../src/sweeps/page-reader.ts';
import {type SweptTarget, sweepStream} from './sweeping.ts';

/** A place with a service and one account. */
interface Loadable {
  readonly pool: pg.Pool;
  readonly url: string;
  readonly accountId: string;
  readonly mischief: {readonly url: string};
  readonly service: {readonly token: string};
}

/** Sweeps every stream, or some, once. @returns whether all of the sweeps ended */
export async function loadNow(
  place: Loadable,
  pageReader: PageReader,
  ...streams: readonly string[]
): Promise<boolean> {
  const wanted = streams.length === 0 ? allStreams.map(({name}) => name) : streams;
  let areEnded = true;
  for (const stream of wanted) areEnded = (await loadWith(place, pageReader, {stream})) && areEnded;
  return areEnded;
}

/** Makes one sweep. @returns whether it ended */
export async function loadWith(
  place: Loadable,
  pageReader: PageReader,
  target: SweptTarget,
): Promise<boolean> {
  const {pool, url: databaseUrl, accountId, mischief} = place;
  const service = {url: mischief.url, token: place.service.token};
  return await sweepStream(
    {pool, databaseUrl, accountId, pageReader, service},
    {...target, tries: 1},
  );
}
