// Logical replication out of the warehouse: Postgres refuses to change a row of a published table
// that has no key.

import pg from 'pg';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {migrateQueue} from '../../jobs/queue.ts';
import {runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {asSuperuser} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';

let place: Place;
let owner: pg.Client;
beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  await migrateQueue(place.databaseUrl);
  // As connectors make it by default: every table there is, and every one that comes.
  await withClient(asSuperuser(place.databaseUrl), (admin) =>
    admin.query('CREATE PUBLICATION dbz_publication FOR ALL TABLES'),
  );
  owner = new pg.Client(place.databaseUrl);
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await place?.close();
});

const tables = `SELECT oid::regclass::text AS name FROM pg_class
                 WHERE relkind IN ('r', 'p') AND relnamespace::regnamespace::text
                   IN ('warehouse', 'history', 'mart', 'masked', 'sync', 'bullmq')`;

test('every table has a primary key', async () => {
  const {rows} = await owner.query(
    `${tables} AND NOT EXISTS (
       SELECT FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)`,
  );
  expect(rows).toEqual([]);
  expect((await owner.query(tables)).rows.length).toBeGreaterThan(80);
});

test('sweeps, pushes, the star and the checks work if every table is published', async () => {
  const published = await owner.query(
    'SELECT count(*)::integer AS count FROM pg_publication_tables',
  );
  expect(published.rows[0].count).toBeGreaterThan(80);
  const first = await runCommand(['start', '--once', '--json'], place.env);
  expect(first, first.stderr).toMatchObject({code: 0});
  // Something that each part has to change, and to remove.
  await owner.query(`UPDATE warehouse.customers SET fax = '555-0100' WHERE customer_number = 1`);
  await owner.query(`INSERT INTO warehouse.tasks (name) VALUES ('Order a ladder')`);
  await owner.query(`UPDATE warehouse.jobs SET name = 'New name' WHERE job_number = 1`);
  const second = await runCommand(['start', '--once', '--json'], place.env);
  expect(second, second.stderr).toMatchObject({code: 0});
  const check = await runCommand(['check'], place.env);
  expect(check, check.stderr + check.stdout).toMatchObject({code: 0});
  expect(
    (await owner.query('SELECT count(*)::integer AS count FROM sync.stale_jobs')).rows,
  ).toEqual([{count: 0}]);
  const run = async (verb: string) => {
    const ended = await runCommand([verb], place.env);
    expect(ended, ended.stderr).toMatchObject({code: 0});
  };
  // Quiet sweeps are folded into their days, all but the newest.
  for (const verb of ['sync', 'sync', 'sync']) await run(verb);
  await owner.query(
    `UPDATE sync.sweeps SET started_at = started_at - interval '30 days',
      ended_at = ended_at - interval '30 days' WHERE ended_at IS NOT NULL`,
  );
  await run('prune');
  expect((await owner.query('SELECT count(*) > 0 AS some FROM sync.sweep_days')).rows).toEqual([
    {some: true},
  ]);
  const doctor = await runCommand(['doctor'], place.env);
  expect(doctor.stdout + doctor.stderr).not.toContain('replica identity');
});
