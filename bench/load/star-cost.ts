// The cost of the star for a sweep: the same jobs loaded by turns, with its triggers and its refresh, and without.

import type {EmbeddedPostgres} from '../../src/warehouse/embedded/embedded.ts';
import {withClient} from '../../test/support/with-client.ts';
import {preparePages} from './pages.ts';
import {migratedDatabase, type Pair, serve, sweepTwice} from './sweeps.ts';

/**
 * Seconds with the star over seconds without it, the best of its turns each. A sweep of three seconds takes a fifth more or less from
 * turn to turn, so that it takes several to find a tenth.
 */
export interface StarCost {
  readonly firstLoad: number;
  readonly unchanged: number;
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
      // Each goes first as often as the other: what the first leaves Postgres to write slows the second.
      const withStar = () => sweepTwice(starred, server.url, 'star');
      const ahead = turn % 2 === 0 ? null : await withStar();
      pairs.push({without: await sweepTwice(plain, server.url), with: ahead ?? (await withStar())});
    }
  } finally {
    server.process.kill();
  }
  const best = (which: 'with' | 'without', sweep: keyof Pair) =>
    Math.min(...pairs.slice(1).map((pair) => pair[which][sweep].seconds));
  return {
    firstLoad: best('with', 'first') / best('without', 'first'),
    unchanged: best('with', 'unchanged') / best('without', 'unchanged'),
  };
}

/** Without triggers nothing is noted. */
async function dropTriggers(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) =>
    client.query(`DO $$
      DECLARE held record;
      BEGIN
        FOR held IN SELECT tgname, tgrelid::regclass AS place FROM pg_trigger WHERE tgname LIKE 'star\\_%' LOOP
          EXECUTE format('DROP TRIGGER %I ON %s', held.tgname, held.place);
        END LOOP;
      END $$`),
  );
}
