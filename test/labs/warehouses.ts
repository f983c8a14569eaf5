// A separate Postgres, and as many empty warehouses on it as a torture takes.

import {forgoDurability} from '../support/forgo-durability.ts';
import {migrateWarehouse, startPostgres} from '../support/own-postgres.ts';
import {SetUp} from '../support/set-up.ts';
import {openPlainPool} from '../support/with-client.ts';

export interface Warehouses {
  make(): Promise<{readonly url: string; drop(): Promise<void>}>;
  close(): Promise<void>;
}

export async function openWarehouses(): Promise<Warehouses> {
  const setUp = new SetUp();
  const {postgres} = await startPostgres(setUp, 'torture');
  const admin = await setUp.step(
    'making the warehouse template',
    async () => {
      const url = await postgres.url('postgres');
      await forgoDurability(url);
      await migrateWarehouse(await postgres.url('warehouse_template'));
      return openPlainPool(url);
    },
    (pool) => pool.end(),
  );
  let made = 0;
  return {
    make: async () => {
      const name = `warehouse_${++made}`;
      await admin.query(`CREATE DATABASE ${name} TEMPLATE warehouse_template STRATEGY file_copy`);
      return {
        url: await postgres.url(name),
        drop: async () => {
          await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
        },
      };
    },
    close: () => setUp.end(),
  };
}
