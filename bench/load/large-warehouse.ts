// A large warehouse, filled by SQL: made-up customers and jobs, sweeps, and changes in every state.
// It is for reading alone.

import type pg from 'pg';
import {inSweepTransaction, inTransaction} from '../../src/postgres/database.ts';

interface Size {
  readonly accountId: string;
  /** Half of them jobs, the others customers. */
  readonly rows: number;
  readonly changes: number;
}

const batch = 50_000;

export async function fillLarge(pool: pg.Pool, {accountId, rows, changes}: Size): Promise<void> {
  const half = Math.ceil(rows / 2);
  await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      records, requests)
     SELECT $1, (ARRAY['jobs', 'customers', 'employees', 'tasks'])[1 + at % 4], 'full', 'schedule',
       'certified',
            now() - at * interval '1 hour', now() - at * interval '1 hour' + interval '20 seconds',
              3000, 226
       FROM generate_series(1000, 1, -1) AS at`,
    [accountId],
  );
  for (let from = 1; from <= half; from += batch) {
    const to = Math.min(half, from + batch - 1);
    await inSweepTransaction(pool, async (client) => {
      await client.query(
        `INSERT INTO warehouse.customers (account_id, customer_number, id, name, phone_number,
          _sweep_id)
         SELECT $1, at, 1000000 + at, (ARRAY['Wren', 'Ilse', 'Odo', 'Petra', 'Ansel'])[1 + at % 5]
         || ' ' || (ARRAY['Marlow', 'Quist', 'Tarn', 'Veck'])[1 + at % 4] || ' ' || at,
                '555-' || lpad((at % 10000)::text, 4, '0'), 1
                  FROM generate_series($2::integer, $3::integer) AS at`,
        [accountId, from, to],
      );
      await client.query(
        `INSERT INTO warehouse.jobs (account_id, job_number, id, customer_number, customer_id, name,
          status, total, created_at, _sweep_id)
         SELECT $1, at, 5000000 + at, at, 1000000 + at, 'Boiler ' || at, 'complete', at % 900,
           now() - interval '1 minute' * at, 1
           FROM generate_series($2::integer, $3::integer) AS at`,
        [accountId, from, to],
      );
    });
  }
  await inTransaction(pool, async (client) => {
    // A change is born held or pending; these have had their lives.
    await client.query(`SET LOCAL session_replication_role = 'replica'`);
    await client.query(
      `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base,
        state, requested_by, requested_at, settled_at, due_at)
     SELECT $1, 'customers', held.row_id, 'update', held.customer_number,
       '{"phone_number": "555-0100"}', '{"phone_number": "555-0199"}',
            CASE WHEN held.customer_number % 50 = 0 THEN 'held' ELSE 'done' END, 'erp',
              now() - interval '1 second' * held.customer_number,
            CASE WHEN held.customer_number % 50 = 0 THEN NULL ELSE now() END, now()
       FROM warehouse.customers AS held WHERE held.account_id = $1 ORDER BY held.customer_number
       LIMIT $2`,
      [accountId, changes],
    );
  });
  await pool.query(
    `INSERT INTO sync.quarantine (account_id, stream, number, sweep_id, page, reason, xml, xml_hash)
     SELECT $1, 'jobs', at, 1, 1, 'jobs ' || at || ': field subtotal: expected a number, got "ten"',
            '<job><name>Boiler</name></job>', ''
       FROM generate_series(1, 300) AS at`,
    [accountId],
  );
  await pool.query('ANALYZE');
}
