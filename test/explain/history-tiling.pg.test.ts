// Random writes by sweeps and by others. In the end the versions of a row tile its time, and the
// rows of a moment are those that a look at that moment saw.

import fc from 'fast-check';
import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {loadRows} from '../../src/rows/load.ts';
import {machines, openWorld, rowOf, type World} from '../support/sample.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({keepsHistory: true});
});
afterAll(() => world?.close());

type RowWrite = {
  readonly kind: 'sweep' | 'mark' | 'insert' | 'update' | 'delete';
  readonly from: number;
  readonly name: string;
};
type Write = RowWrite | {readonly kind: 'truncate' | 'restart'};

/** One transaction, or two of which the first begins before the other and writes after it. */
type Step = readonly Write[] | {readonly early: readonly Write[]; readonly late: readonly Write[]};

const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom('sweep', 'mark', 'insert', 'update', 'delete'),
      from: fc.integer({min: 1, max: 6}),
      name: fc.constantFrom('a', 'b', 'c'),
    }),
  },
  {weight: 1, arbitrary: fc.record({kind: fc.constantFrom('truncate', 'restart')})},
);
const writes = fc.array(write, {minLength: 1, maxLength: 3});
const step: fc.Arbitrary<Step> = fc.oneof(
  {weight: 4, arbitrary: writes},
  {weight: 1, arbitrary: fc.record({early: writes, late: writes})},
);

interface Look {
  readonly at: string;
  readonly rows: unknown[];
}

test('versions of a row have no gap or overlap, and each past time reads the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, {minLength: 1, maxLength: 10}), async (steps) => {
      await empty();
      const looks: Look[] = [await look()];
      for (const one of steps) {
        if ('early' in one) await runBoth(one);
        else await runOne(one);
        looks.push(await look());
      }
      for (const {at, rows} of looks) expect(await readAsOf(at)).toEqual(rows);
      await expectTiling();
      await expectOneAtBoundaries();
    }),
    {numRuns: 60},
  );
});

async function empty(): Promise<void> {
  await world.pool.query('TRUNCATE warehouse.machines');
  await world.pool.query('TRUNCATE history.past_machines, history.edits');
}

async function runOne(given: readonly Write[]): Promise<void> {
  await inSweepTransaction(world.pool, async (client) => {
    for (const one of given) await carryOut(client, one);
  });
}

async function runBoth({
  early,
  late,
}: {
  early: readonly Write[];
  late: readonly Write[];
}): Promise<void> {
  await inSweepTransaction(world.pool, async (client) => {
    await client.query('SELECT now()');
    await runOne(late);
    for (const one of early) await carryOut(client, one);
  });
}

/** Carries out one write, on the rows from a number on: mostly up to three. */
async function carryOut(client: pg.PoolClient, one: Write): Promise<void> {
  const isSweep = one.kind === 'sweep' || one.kind === 'mark';
  await client.query(`SELECT set_config('fieldmirror.writer', $1, true)`, [isSweep ? 'sweep' : '']);
  if (!('name' in one))
    await (one.kind === 'restart' ? restart(client) : client.query('TRUNCATE warehouse.machines'));
  else if (one.kind === 'sweep') await sweep(client, one);
  else if (one.kind === 'mark' || one.kind === 'delete')
    await client.query(statements[one.kind], [one.from]);
  else await client.query(statements[one.kind], [one.from, one.name]);
}

const range = 'machine_number BETWEEN $1::bigint AND $1::bigint + 2';
const statements = {
  insert: `INSERT INTO warehouse.machines (account_id, machine_number, name)
    VALUES (1, $1, $2) ON CONFLICT DO NOTHING`,
  update: `UPDATE warehouse.machines SET name = $2 WHERE ${range}`,
  delete: `DELETE FROM warehouse.machines WHERE ${range}`,
  mark: `UPDATE warehouse.machines SET _deleted_at = now(), _changed_at = now(), _sweep_id = 7
    WHERE ${range}`,
};

async function sweep(
  client: pg.PoolClient,
  {from, name}: {from: number; name: string},
): Promise<void> {
  const rows = [from, from + 1].map((number) =>
    rowOf(machines, {machine_number: String(number), name}),
  );
  await loadRows(client, machines, rows, {accountId: '1', sweepId: '3'});
}

/**
 * Takes a row out and puts it back under its old row_id, as a restore of the table does; or is
 * refused.
 */
async function restart(client: pg.PoolClient): Promise<void> {
  const columns = 'row_id, account_id, machine_number, name';
  await client.query('SAVEPOINT restart');
  const {rows} = await client.query(`DELETE FROM warehouse.machines WHERE row_id = (
    SELECT min(row_id) FROM warehouse.machines) RETURNING ${columns}`);
  for (const row of rows) {
    const values = [row.row_id, row.account_id, row.machine_number, row.name];
    const insert = `INSERT INTO warehouse.machines (${columns}) OVERRIDING SYSTEM VALUE
      VALUES ($1, $2, $3, $4)`;
    await client.query(insert, values).catch((error) => {
      if (error.code !== '23000') throw error;
      return client.query('ROLLBACK TO SAVEPOINT restart');
    });
  }
}

const shown = 'row_id, machine_number, name, _sweep_id, _hash, _changed_at';

async function look(): Promise<Look> {
  const {rows} = await world.pool.query(
    `SELECT ${shown} FROM warehouse.machines WHERE _deleted_at IS NULL ORDER BY row_id`,
  );
  const clock = await world.pool.query('SELECT clock_timestamp() AS now');
  return {at: clock.rows[0].now, rows};
}

async function readAsOf(moment: string): Promise<unknown[]> {
  const {rows} = await world.pool.query(
    `SELECT ${shown} FROM history.machines_as_of($1) ORDER BY row_id`,
    [moment],
  );
  return rows;
}

/** No version ends before it begins, and the next one of its row begins where it ends. */
async function expectTiling(): Promise<void> {
  const {rows} = await world.pool.query(
    `SELECT * FROM (
       SELECT row_id, valid_from, valid_to,
         lead(valid_from) OVER (PARTITION BY row_id ORDER BY valid_from) AS next
         FROM history.machines) AS version
      WHERE valid_to <= valid_from OR (next IS NOT NULL AND valid_to IS DISTINCT FROM next)`,
  );
  expect(rows).toEqual([]);
}

/** At the moment at which one version gives way to the next, only the next one holds. */
async function expectOneAtBoundaries(): Promise<void> {
  const {rows} = await world.pool.query(
    `SELECT version.row_id, version.valid_from, count(*) FROM history.machines AS version
      CROSS JOIN LATERAL history.machines_as_of(version.valid_from) AS row
      WHERE row.row_id = version.row_id
      GROUP BY 1, 2 HAVING count(*) > 1 OR max(row._changed_at) <> version.valid_from`,
  );
  expect(rows).toEqual([]);
}
