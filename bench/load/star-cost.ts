// The cost of the star for a sweep: the same jobs loaded by turns, with its triggers and its
// refresh, and without.

import type {EmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {percentile} from '../../test/support/percentile.ts';
import {withClient} from '../../test/support/with-client.ts';
import {preparePages} from './pages.ts';
import {migratedDatabase, type Pair, serve, sweepTwice} from './sweeps.ts';

/** Seconds with the star over seconds without it. */
export interface StarCost {
  readonly firstLoad: Spread;
  readonly unchanged: Spread;
}

/**
 * The ratios of several turns. A sweep of three seconds takes a fifth more or less from one minute
 * to the next: a ratio is of two sweeps that follow each other, and the median of the turns is what
 * counts: of an odd number of turns it is one of them.
 */
export interface Spread {
  readonly least: number;
  readonly median: number;
  readonly most: number;
}

export async function measureStarCost(
  postgres: EmbeddedPostgres,
  {jobs, turns}: {readonly jobs: number; readonly turns: number},
): Promise<StarCost> {
  const folder = await preparePages(jobs, await postgres.url('pages'));
  const server = await serve({file: 'page-server.ts', args: [folder]});
  const pairs: {with: Pair; without: Pair}[] = [];
  try {
    // One turn to warm up: a new Postgres makes its log files with its first load.
    for (let turn = 0; turn <= turns; turn++) {
      const plain = await migratedDatabase(postgres, `plain_${turn}`);
      await dropTriggers(plain);
      const starred = await migratedDatabase(postgres, `starred_${turn}`);
      // They go first by turns: what the first leaves Postgres to write slows the second.
      const withStar = () => sweepTwice(starred, server.url, 'star');
      const ahead = turn % 2 === 0 ? null : await withStar();
      pairs.push({without: await sweepTwice(plain, server.url), with: ahead ?? (await withStar())});
    }
  } finally {
    server.process.kill();
  }
  const spreadOf = (sweep: keyof Pair): Spread => {
    const ratios = pairs
      .slice(1)
      .map((pair) => pair.with[sweep].seconds / pair.without[sweep].seconds);
    return {least: Math.min(...ratios), median: percentile(ratios, 0.5), most: Math.max(...ratios)};
  };
  return {firstLoad: spreadOf('first'), unchanged: spreadOf('unchanged')};
}

/** Without triggers nothing is noted. */
async function dropTriggers(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) =>
    client.query(`DO $$
      DECLARE held record;
      BEGIN
        FOR held IN SELECT tgname, tgrelid::regclass AS place FROM pg_trigger
          WHERE tgname LIKE 'star\\_%' LOOP
          EXECUTE format('DROP TRIGGER %I ON %s', held.tgname, held.place);
        END LOOP;
      END $$`),
  );
}
