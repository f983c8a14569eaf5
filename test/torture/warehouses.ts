// A Postgres of one's own, and as many empty warehouses on it as a torture takes.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {allTables} from '../../src/streams/all-tables.ts';
import {openEmbeddedPostgres} from '../../src/warehouse/embedded/embedded.ts';
import {openPool} from '../../src/warehouse/postgres/database.ts';
import {migrate} from '../../src/warehouse/schema/migrate.ts';
import {forgoDurability} from '../support/forgo-durability.ts';

export interface Warehouses {
  make(): Promise<{readonly url: string; drop(): Promise<void>}>;
  close(): Promise<void>;
}

export async function openWarehouses(): Promise<Warehouses> {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-torture-'));
  const postgres = await openEmbeddedPostgres(home);
  await forgoDurability(await postgres.url('postgres'));
  const template = openPool(await postgres.url('warehouse_template'), {max: 1, applicationName: 'torture'});
  await migrate(template, allTables);
  await template.end();
  const admin = new pg.Pool({connectionString: await postgres.url('postgres')});
  let made = 0;
  return {
    make: async () => {
      const name = `warehouse_${++made}`;
      await admin.query(`CREATE DATABASE ${name} TEMPLATE warehouse_template`);
      return {
        url: await postgres.url(name),
        drop: async () => {
          await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
        },
      };
    },
    close: async () => {
      await admin.end();
      await postgres.leave();
      await rm(home, {recursive: true, force: true});
    },
  };
}
