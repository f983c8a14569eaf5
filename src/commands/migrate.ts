import type {Config} from '../config.ts';
import {allTables} from '../streams/all-tables.ts';
import {migrate as runMigrations} from '../warehouse/migrate.ts';
import {print} from './report.ts';
import {withWarehouse} from './world.ts';

/** Brings the warehouse's schema up to date, and nothing else. */
export async function migrate(config: Config, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {applied} = await runMigrations(pool, allTables, true);
    const text = applied === 0 ? `${place}: nothing to do` : `${place}: ${applied} migrations applied`;
    print(options.json, {json: {applied}, text});
    return 0;
  });
}
