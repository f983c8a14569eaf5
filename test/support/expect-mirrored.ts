import {expect} from 'vitest';
import {allStreams, allTables} from '../../src/streams/all.ts';
import {findDifferences} from './compare.ts';
import {readTruth} from './truth.ts';
import {withClient} from './with-client.ts';

/** @param service - in the observed dialect */
export async function expectMirrored(
  databaseUrl: string,
  service: {readonly url: string; readonly token: string},
): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    for (const stream of allStreams) {
      expect(await findDifferences(client, stream, await readTruth(service, stream))).toEqual([]);
    }
  });
}

/** The newest transaction that wrote each table: where it stays the same, no row was written. */
export async function readLastWrites(databaseUrl: string): Promise<unknown[]> {
  return await withClient(databaseUrl, async (client) => {
    const writes: unknown[] = [];
    for (const {name} of allTables) {
      writes.push(
        (await client.query(`SELECT count(*), max(xmin::text::bigint) FROM warehouse."${name}"`))
          .rows[0],
      );
    }
    return writes;
  });
}
