import type pg from 'pg';
import {allStreams} from '../../../src/streams/all.ts';
import {PageReader} from '../../../src/sync/load/page-reader.ts';
import {sweepStream} from './sweeping.ts';

/** A place with a service and one account. */
interface Loadable {
  readonly pool: pg.Pool;
  readonly url: string;
  readonly accountId: string;
  readonly mischief: {readonly url: string};
  readonly service: {readonly token: string};
}

/** Sweeps every stream, or one, once. @returns whether all of the sweeps ended */
export async function loadNow(place: Loadable, ...streams: readonly string[]): Promise<boolean> {
  const {pool, url: databaseUrl, accountId, mischief, service} = place;
  const pageReader = new PageReader();
  const wanted = streams.length === 0 ? allStreams.map(({name}) => name) : streams;
  try {
    let areEnded = true;
    for (const stream of wanted) {
      const from = {
        pool,
        databaseUrl,
        accountId,
        pageReader,
        service: {url: mischief.url, token: service.token},
      };
      areEnded = (await sweepStream(from, {stream, tries: 1})) && areEnded;
    }
    return areEnded;
  } finally {
    await pageReader.close();
  }
}
