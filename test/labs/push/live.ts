// Worlds of the laboratory on the cluster that all tests share.

import {inject} from 'vitest';
import type {PageReader} from '../../../src/sweeps/page-reader.ts';
import {createDatabase} from '../../support/postgres.ts';
import {runsPerWorld, runWorld} from './run.ts';
import {openLaggingService} from './services.ts';
import {addTally, emptyTally, type Tally} from './tally.ts';

type World = Parameters<typeof runWorld>[0];

/** Runs one world. */
export async function live(
  pageReader: PageReader,
  world: Partial<World> & Pick<World, 'seed'>,
): Promise<Tally> {
  const database = await createDatabase(inject('warehouseTemplate'));
  try {
    return await runWorld({
      runs: runsPerWorld,
      databaseUrl: database.url,
      pageReader,
      openService: openLaggingService,
      ...world,
    });
  } finally {
    await database.drop();
  }
}

/** Runs the worlds of some seeds, from 1, two at once. */
export async function liveAll(
  pageReader: PageReader,
  {worlds, ...more}: Partial<World> & {readonly worlds: number},
): Promise<Tally> {
  const tally = emptyTally();
  let next = 1;
  const lane = async () => {
    for (let seed = next++; seed <= worlds; seed = next++)
      addTally(tally, await live(pageReader, {...more, seed}));
  };
  await Promise.all([lane(), lane()]);
  return tally;
}
