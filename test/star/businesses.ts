// Two businesses in one warehouse, with the same numbers and ids, in two zones; people edit the
// first one at its service.

import pg from 'pg';
import {inject} from 'vitest';
import {refreshStar} from '../../src/star/mart.ts';
import {tieOuts} from '../../src/star/tie-outs.ts';
import {createDatabase} from '../support/postgres.ts';
import {openService, openWorld, type TestWorld} from '../support/world.ts';

/** Far from New York, and half an hour off the clocks of everybody else, in summer too. */
const otherZone = 'Australia/Lord_Howe';

export interface Businesses {
  readonly first: TestWorld;
  readonly second: TestWorld;
  /** Sets fields of a record at the service of the first, as people there would; null is nil. */
  edit(
    table: string,
    where: string,
    fields: Readonly<Record<string, string | null>>,
  ): Promise<void>;
  /** Runs a statement in the database of that service. */
  atService(text: string): Promise<readonly Record<string, unknown>[]>;
  sweepAll(): Promise<void>;
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** The tie-outs that do not hold, each with its first row. */
  findBroken(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function openBusinesses(): Promise<Businesses> {
  const services = [await openService(), await openService({timeZone: otherZone})] as const;
  const database = await createDatabase(inject('warehouseTemplate'));
  // The database is dropped once, by the second world.
  const first = await openWorld(services[0], {...database, drop: async () => {}});
  const second = await openWorld(services[1], database, {name: 'far away', timeZone: otherZone});
  const people = new pg.Client({connectionString: services[0].databaseUrl});
  await people.connect();
  const query: Businesses['query'] = async (text, values = []) =>
    (await first.pool.query(text, [...values])).rows;
  return {
    first,
    second,
    edit: async (table, where, fields) => {
      const {rowCount} = await people.query(
        `UPDATE service.${table} SET fields = jsonb_strip_nulls(fields || $1) WHERE ${where}`,
        [{...fields, updated_at: `${new Date().toISOString().slice(0, 19)}Z`}],
      );
      if (rowCount === 0)
        throw new Error(`service.${table}: expected a record where ${where}, found none`);
    },
    atService: async (text) => (await people.query(text)).rows,
    sweepAll: async () => {
      await first.sweepAll();
      await second.sweepAll();
      await refreshStar(first.pool);
    },
    query,
    findBroken: async () => {
      const broken: string[] = [];
      for (const {name, claim, sql} of tieOuts) {
        const [row] = await query(
          `SELECT to_jsonb(broken)::text AS row FROM (${sql}) AS broken LIMIT 1`,
        );
        if (row !== undefined) broken.push(`${name}: ${claim} ${row.row}`);
      }
      return broken;
    },
    close: async () => {
      await people.end();
      await first.close();
      await second.close();
      for (const service of services) await service.close();
    },
  };
}
