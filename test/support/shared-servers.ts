// The servers of all tests: one Postgres with two databases to copy from, and a Redis. Each test
// has its own databases.

import {seedBusiness} from '../../src/service/business.ts';
import {forgoDurability} from './forgo-durability.ts';
import {migrateWarehouse, startPostgres} from './own-postgres.ts';
import {makePlainOwner} from './plain-owner.ts';
import {startRedis} from './redis.ts';
import type {TestRedis} from './redis-server.ts';
import type {SetUp} from './set-up.ts';
import {withClient} from './with-client.ts';

export interface SharedServers {
  /** The cluster, as an ordinary owner of databases: `plain-owner.ts`. */
  readonly postgresUrl: string;
  /** The same cluster as a superuser, for what no owner may do. */
  readonly superuserUrl: string;
  readonly warehouseTemplate: string;
  readonly businessTemplate: string;
  /** Null where tests can have no Redis. */
  readonly redisUrl: string | null;
}

/** The makers of its databases and its Redis. */
export interface Makers {
  /** Makes a migrated, empty warehouse of an empty database. */
  warehouse(url: string): Promise<unknown>;
  /** Makes a service's database with a small made-up business of an empty one. */
  business(url: string): Promise<unknown>;
  /** @returns null where no Redis can be had */
  redis(): Promise<TestRedis | null>;
}

const business = {
  seed: 7,
  customers: 60,
  jobs: 240,
  timeZone: 'America/New_York',
  today: '2026-11-02',
};

export const makers: Makers = {
  warehouse: migrateWarehouse,
  business: (url) => seedBusiness(url, business),
  redis: startRedis,
};

async function ownPostgres(setUp: SetUp): Promise<string> {
  const {postgres} = await startPostgres(setUp, 'test');
  return await postgres.url('postgres');
}

/** @throws {Error} which step failed, and why; nothing stays running */
export async function startServers(
  setUp: SetUp,
  {warehouse, business, redis}: Makers,
): Promise<SharedServers> {
  const adminUrl = process.env.TEST_POSTGRES_URL ?? (await ownPostgres(setUp));
  const {ownerUrl: postgresUrl, superuserUrl} = await setUp.step(
    'setting up Postgres',
    async () => {
      await forgoDurability(adminUrl);
      return await makePlainOwner(adminUrl);
    },
  );
  const template = async (name: string, make: (url: string) => Promise<unknown>) => {
    await withClient(postgresUrl, (client) =>
      client.query(`CREATE DATABASE ${name} TEMPLATE template0`),
    );
    const url = new URL(postgresUrl);
    url.pathname = `/${name}`;
    await make(url.href);
    return name;
  };
  const warehouseTemplate = await setUp.step('making the warehouse template', () =>
    template('warehouse_template', warehouse),
  );
  const businessTemplate = await setUp.step('making the business template', () =>
    template('business_template', business),
  );
  const started = await setUp.step('starting Redis', redis, async (server) => server?.stop());
  return {
    postgresUrl,
    superuserUrl,
    warehouseTemplate,
    businessTemplate,
    redisUrl: started?.url ?? null,
  };
}
