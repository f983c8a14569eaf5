import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {openPool} from '../../src/postgres/database.ts';
import {type EmbeddedPostgres, openEmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {definitions, migrateSchema} from '../../src/schema/migrate.ts';
import {endWithProcess} from './end-with-process.ts';
import type {SetUp} from './set-up.ts';

/** A Postgres for one set-up alone, and its folder. */
export interface OwnPostgres {
  readonly home: string;
  readonly postgres: EmbeddedPostgres;
}

/**
 * Starts a Postgres for as long as a set-up or its process lasts; then it is stopped, and its
 * folder removed.
 * @param use - its purpose, in the name of its folder
 */
export async function startPostgres(setUp: SetUp, use: string): Promise<OwnPostgres> {
  const home = await setUp.step(
    'making a folder for Postgres',
    () => mkdtemp(join(tmpdir(), `fieldmirror-${use}-`)),
    (folder) => rm(folder, {recursive: true, force: true}),
  );
  await setUp.step(
    'tying Postgres to this process',
    async () => endWithProcess(home),
    async (untie) => untie(),
  );
  const postgres = await setUp.step(
    'starting Postgres',
    () => openEmbeddedPostgres(home),
    (started) => started.leave(),
  );
  return {home, postgres};
}

/**
 * Brings an empty database to the schema of a warehouse. No session stays, or its Postgres would be
 * left running.
 */
export async function migrateWarehouse(url: string): Promise<void> {
  const pool = openPool(url, {max: 1, applicationName: 'test set-up'});
  try {
    await migrateSchema(pool, definitions);
  } finally {
    await pool.end();
  }
}
