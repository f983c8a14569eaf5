// Random edits of two accounts, from several sessions at once, while two others refresh the star at
// random moments.

import type pg from 'pg';
import {inject} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {Random} from '../../src/service/vocabulary.ts';
import {refreshStar} from '../../src/star/mart.ts';
import {tieOuts} from '../../src/star/tie-outs.ts';
import {createDatabase} from '../support/postgres.ts';

const editors = 3;
const refreshers = 2;
/** Of each account, to begin with: so many that a few edits are less than a quarter of them. */
const jobs = 400;
const customers = 200;

/**
 * Both sides of midnight and of both changes of the clocks, in New York and on Lord Howe Island.
 */
const instants = [
  ...[
    '2026-03-08T06:59:59Z',
    '2026-03-08T07:00:01Z',
    '2026-11-01T05:30:00Z',
    '2026-11-01T06:30:00Z',
    '2026-11-01T03:59:59Z',
  ],
  ...[
    '2026-04-04T14:59:59Z',
    '2026-04-04T15:15:00Z',
    '2026-10-03T15:29:59Z',
    '2026-10-03T15:30:01Z',
    '2026-07-15T12:00:00Z',
  ],
];

interface Editor {
  readonly client: pg.ClientBase;
  readonly accountId: string;
  readonly below: (most: number) => number;
  /** A number that nobody had before. */
  readonly fresh: () => number;
}

const anyRow = (table: string) =>
  `(SELECT row_id FROM warehouse.${table} WHERE account_id = $1 ORDER BY row_id OFFSET $2 LIMIT 1)`;

/**
 * Each makes one edit, as a sweep does. What is added to a job holds it, so that it is not gone
 * meanwhile.
 */
const edits: readonly ((editor: Editor) => Promise<unknown>)[] = [
  ({client, accountId, below}) =>
    client.query(
      `INSERT INTO warehouse.customers (account_id, id, customer_number, name, _hash, _sweep_id)
        VALUES ($1, $2, $2, 'Made-up', '\\x00', 1) ON CONFLICT DO NOTHING`,
      [accountId, 1 + below(customers)],
    ),
  ({client, accountId, below, fresh}) =>
    client.query(
      `INSERT INTO warehouse.jobs (account_id, id, job_number, customer_id, customer_number,
        created_at, updated_at, subtotal, tax, total, balance_remaining, status, job_type_id, _hash,
        _sweep_id)
       VALUES ($1, $2, $2, $3, $3, $4, $4, $5, 0, $5, $5, 'scheduled', $6, '\\x00', 1)`,
      [
        accountId,
        fresh(),
        1 + below(customers),
        instants[below(instants.length)],
        (below(100_000) / 1000).toFixed(3),
        1 + below(3),
      ],
    ),
  ({client, accountId, below}) =>
    client.query(
      `UPDATE warehouse.jobs SET status = $3,
        completed_on = CASE WHEN $3 = 'complete' THEN $4::timestamptz END,
        started_on = $4::timestamptz, balance_remaining = CASE WHEN $5 THEN 0 ELSE total END,
              invoice_date = CASE WHEN $5 THEN $4::timestamptz END, updated_at = $4::timestamptz
                WHERE row_id = ${anyRow('jobs')}`,
      [
        accountId,
        below(jobs),
        ['complete', 'scheduled', 'in_progress', 'lost', 'new'][below(5)],
        instants[below(instants.length)],
        below(2) === 0,
      ],
    ),
  ({client, accountId, below}) =>
    client.query(
      `UPDATE warehouse.jobs SET customer_id = $3, customer_number = $3, scheduled_on = $4
        WHERE row_id = ${anyRow('jobs')}`,
      [accountId, below(jobs), 1 + below(customers), instants[below(instants.length)]],
    ),
  // A job that is gone takes along all it owns; one that comes back brings it back.
  async ({client, accountId, below}) => {
    const {rows} = await client.query(
      `UPDATE warehouse.jobs SET _deleted_at = CASE WHEN _deleted_at IS NULL THEN now() END
        WHERE row_id = ${anyRow('jobs')} RETURNING job_number, _deleted_at`,
      [accountId, below(jobs)],
    );
    for (const table of ['job_charges', 'time_entries', 'job_employees'])
      await client.query(
        `UPDATE warehouse.${table} SET _deleted_at = $3 WHERE account_id = $1 AND job_number = $2`,
        [accountId, rows[0]?.job_number, rows[0]?._deleted_at],
      );
  },
  ({client, accountId, below, fresh}) =>
    client.query(
      `INSERT INTO warehouse.job_charges (account_id, id, job_number, job_id, item_id, quantity,
        price_per_unit, discount, total, created_on, _hash, _sweep_id)
       SELECT account_id, $3, job_number, id, $4, 2, $5::numeric / 2, 0, $5::numeric, now(),
         '\\x00', 1 FROM warehouse.jobs WHERE row_id = ${anyRow('jobs')} AND _deleted_at IS NULL
       FOR SHARE`,
      [accountId, below(jobs), fresh(), below(4), below(1000)],
    ),
  ({client, accountId, below, fresh}) =>
    client.query(
      `INSERT INTO warehouse.time_entries (account_id, id, job_number, job_id, employee_id,
        started_on, number_of_hours, billable, created_at, _hash, _sweep_id)
       SELECT account_id, $3, job_number, id, $4, $5, $6, $7, now(), '\\x00', 1 FROM warehouse.jobs
       WHERE row_id = ${anyRow('jobs')} AND _deleted_at IS NULL FOR SHARE`,
      [
        accountId,
        below(jobs),
        fresh(),
        1 + below(5),
        instants[below(instants.length)],
        below(40) / 4,
        below(2) === 0,
      ],
    ),
  ({client, accountId, below}) =>
    client.query(
      `INSERT INTO warehouse.job_employees (account_id, job_number, job_id, employee_id, _hash,
        _sweep_id)
       SELECT account_id, job_number, id, $3, '\\x00', 1 FROM warehouse.jobs
       WHERE row_id = ${anyRow('jobs')} AND _deleted_at IS NULL FOR SHARE
       ON CONFLICT DO NOTHING`,
      [accountId, below(jobs), 1 + below(5)],
    ),
  ({client, accountId, below}) =>
    client.query(
      `UPDATE warehouse.job_charges SET total = total + 1, price_per_unit = price_per_unit + 0.5
        WHERE row_id = ${anyRow('job_charges')}`,
      [accountId, below(jobs)],
    ),
  ({client, accountId, below}) => {
    const table = ['job_charges', 'time_entries', 'job_employees'][below(3)] ?? '';
    return client.query(`DELETE FROM warehouse.${table} WHERE row_id = ${anyRow(table)}`, [
      accountId,
      below(jobs),
    ]);
  },
  ({client, accountId, below}) =>
    client.query(
      `UPDATE warehouse.customers SET _deleted_at = CASE WHEN _deleted_at IS NULL THEN now() END
        WHERE row_id = ${anyRow('customers')}`,
      [accountId, below(customers)],
    ),
];

/**
 * Makes so many edits, and refreshes beside them.
 * @returns the tie-outs that do not hold in the end, how often the star was refreshed meanwhile,
 *   and how often in part
 */
export async function editAtRandom(
  seed: number,
  count: number,
): Promise<{broken: readonly string[]; refreshes: number; inPart: number}> {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: editors + refreshers, applicationName: 'test'});
  try {
    const accountIds = await openAccounts(pool);
    let number = 1_000;
    let left = count;
    const edit = async (below: Editor['below']) => {
      while (left-- > 0)
        await inSweepTransaction(pool, async (client) => {
          const accountId = accountIds[below(accountIds.length)] ?? '';
          const fresh = () => number++;
          for (let more = 1 + below(3); more > 0; more--)
            await edits[below(edits.length)]?.({client, accountId, below, fresh});
        });
    };
    const chance = (label: string, index: number) => {
      const random = new Random(String(seed), label, index);
      return (below: number) => random.integer(0, below - 1);
    };
    let refreshes = 0;
    let inPart = 0;
    const refresh = async (below: Editor['below']) => {
      while (left > 0) {
        const written = await refreshStar(pool);
        refreshes++;
        if (written > 0 && written < jobs) inPart++;
        for (let turns = below(50); turns > 0; turns--) await new Promise(setImmediate);
      }
    };
    await Promise.all([
      ...Array.from({length: editors}, (_, at) => edit(chance('edits', at))),
      ...Array.from({length: refreshers}, (_, at) => refresh(chance('refreshes', at))),
    ]);
    await refreshStar(pool);
    return {broken: await findBroken(pool), refreshes, inPart};
  } finally {
    await pool.end();
    await database.drop();
  }
}

async function openAccounts(pool: pg.Pool): Promise<string[]> {
  const accountIds: string[] = [];
  for (const [name, timeZone] of [
    ['here', 'America/New_York'],
    ['there', 'Australia/Lord_Howe'],
  ] as const) {
    const {accountId} = await upsertAccount(pool, {
      name,
      apiUrl: `https://example.com/${name}`,
      timeZone,
    });
    accountIds.push(accountId);
    await inSweepTransaction(pool, async (client) => {
      for (let id = 1; id <= 5; id++)
        await client.query(
          `INSERT INTO warehouse.employees (account_id, id, employee_number, name, active, _hash,
            _sweep_id) VALUES ($1, $2, $2, 'Made-up', true, '\\x00', 1)`,
          [accountId, id],
        );
      for (let id = 1; id <= 3; id++)
        await client.query(
          `INSERT INTO warehouse.job_types (account_id, id, name, _hash, _sweep_id)
            VALUES ($1, $2, 'Made-up', '\\x00', 1)`,
          [accountId, id],
        );
      await client.query(
        `INSERT INTO warehouse.customers (account_id, id, customer_number, name, _hash, _sweep_id)
         SELECT $1, id, id, 'Made-up', '\\x00', 1 FROM generate_series(1, $2, 2) AS id`,
        [accountId, customers],
      );
      await client.query(
        `INSERT INTO warehouse.jobs (account_id, id, job_number, customer_id, customer_number,
          created_at, updated_at, subtotal, tax, total, balance_remaining, status, _hash, _sweep_id)
         SELECT $1, id, id, 1 + id % $3, 1 + id % $3, $4, $4, id, 0, id, id, 'scheduled', '\\x00', 1
         FROM generate_series(1, $2) AS id`,
        [accountId, jobs, customers, instants[0]],
      );
    });
  }
  return accountIds;
}

async function findBroken(pool: pg.Pool): Promise<string[]> {
  const broken: string[] = [];
  for (const {name, sql} of tieOuts) {
    const {rows} = await pool.query<{row: string}>(
      `SELECT to_jsonb(broken)::text AS row FROM (${sql}) AS broken LIMIT 1`,
    );
    if (rows[0] !== undefined) broken.push(`${name}: ${rows[0].row}`);
  }
  return broken;
}
