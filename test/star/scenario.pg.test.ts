// A business is lived through, in a warehouse that holds another one with the same numbers. The
// star tells at every age what happened, and as of the beginning and of the middle what was known
// then.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Member} from '../../src/star/member.ts';
import {members, questions} from '../../src/star/star.ts';
import {type Businesses, openBusinesses} from './businesses.ts';

let world: Businesses;
/** A moment between two sweeps, and what each member of the star was then. */
interface Memory {
  readonly at: string;
  readonly prints: ReadonlyMap<string, unknown>;
}

const memories: Record<'beginning' | 'middle', Memory | null> = {beginning: null, middle: null};
/** The star and every answer. */
const all: readonly Member[] = [...members, ...questions];
const ofMoments = all.filter(({isOfVersions}) => !isOfVersions).map(({name}) => name);

/** Every row of a member, in one order, as a fingerprint. */
async function fingerprint(source: string): Promise<unknown> {
  const [row] = await world.query(
    `SELECT md5(string_agg(to_jsonb(held)::text, ',' ORDER BY to_jsonb(held)::text)) AS print,
      count(*) AS rows FROM ${source} AS held`,
  );
  return row;
}

async function remember(): Promise<Memory> {
  const [{at} = {}] = await world.query('SELECT clock_timestamp()::text AS at');
  const prints = new Map<string, unknown>();
  for (const name of ofMoments) prints.set(name, await fingerprint(`mart.${name}`));
  return {at: String(at), prints};
}

const job = (number: number) => `fields ->> 'job_number' = '${number}'`;

beforeAll(async () => {
  world = await openBusinesses();
  await world.sweepAll();
  await world.query('ANALYZE');
  memories.beginning = await remember();
});
afterAll(() => world?.close());

test('every tie-out holds after the first load', async () => {
  expect(await world.findBroken()).toEqual([]);
});

describe('a business that changes over time', () => {
  /** A row of `mart.fct_job` of the first business that a condition holds for. */
  async function pick(
    where: string,
    from = 'mart.fct_job AS job',
  ): Promise<Record<string, unknown>> {
    const [row] = await world.query(
      `SELECT job.* FROM ${from} WHERE job.account_key = $1 AND ${where}
       ORDER BY job.job_number LIMIT 1`,
      [world.first.account.accountId],
    );
    if (row === undefined) throw new Error(`expected a job where ${where}, found none`);
    return row;
  }
  const reread = async ({job_key}: Record<string, unknown>) =>
    (await world.query('SELECT * FROM mart.fct_job WHERE job_key = $1', [job_key]))[0];
  const plus100 = (amount: unknown) => String(Number(amount) + 100);
  const numberOf = (row: Record<string, unknown>) => Number(row.job_number);

  test('completed jobs turn open amounts into revenue and record the state change', async () => {
    const picked = await world.query(
      `SELECT * FROM mart.fct_job WHERE account_key = $1 AND job_state = 'scheduled'
       AND subtotal > 0 ORDER BY job_number LIMIT 4`,
      [world.first.account.accountId],
    );
    expect(picked).toHaveLength(4);
    for (const row of picked)
      await world.edit('jobs', job(numberOf(row)), {
        status: 'complete',
        started_on: '2026-10-31T14:00:00Z',
        completed_on: '2026-10-31T16:00:00Z',
      });
    await world.sweepAll();
    for (const row of picked) {
      const now = await reread(row);
      expect(now).toMatchObject({
        job_state: 'completed',
        completed_amount: row.subtotal,
        open_amount: '0',
      });
      const changes = await world.query(
        `SELECT from_state, to_state FROM mart.fct_job_status_change
          WHERE job_key = $1 ORDER BY observed_at`,
        [row.job_key],
      );
      expect(changes).toEqual([
        {from_state: null, to_state: 'scheduled'},
        {from_state: 'scheduled', to_state: 'completed'},
      ]);
    }
  });

  test('a balance that falls twice gives two payments, the last dated by the invoice', async () => {
    const owing = await pick(`job.receivable = job.total AND job.total > 100`);
    const half = (Number(owing.total) / 2).toFixed(2);
    await world.edit('jobs', job(numberOf(owing)), {balance_remaining: half});
    await world.sweepAll();
    await world.edit('jobs', job(numberOf(owing)), {
      balance_remaining: '0',
      invoice_paid_on: '2026-11-02T15:00:00Z',
      invoice_status: 'paid',
    });
    await world.sweepAll();
    const steps = await world.query(
      `SELECT amount::float, dated_by, paid_date::text FROM mart.fct_payment
        WHERE job_key = $1 ORDER BY observed_at`,
      [owing.job_key],
    );
    expect(steps).toEqual([
      {
        amount: expect.closeTo(Number(owing.total) - Number(half), 6),
        dated_by: 'observed',
        paid_date: expect.any(String),
      },
      {amount: expect.closeTo(Number(half), 6), dated_by: 'stated', paid_date: '2026-11-02'},
    ]);
    expect(await reread(owing)).toMatchObject({receivable: '0', paid_date: expect.anything()});
  });

  test('a past month that grows is restated, but is unchanged as of the beginning', async () => {
    const past = await pick(
      `job.job_state = 'completed' AND job.charges > 0 AND job.completed_date < '2026-10-01'`,
    );
    const month = `date_trunc('month', completed_date) = date_trunc('month', $2::date)`;
    const revenue = async (source: string) => {
      const [row] = await world.query(
        `SELECT sum(completed_amount)::float AS revenue FROM ${source}
         WHERE account_key = $1 AND ${month}`,
        [world.first.account.accountId, past.completed_date],
      );
      return Number(row?.revenue);
    };
    const before = await revenue('mart.fct_job');
    await world.edit(
      'job_charges',
      `id = (SELECT id FROM service.job_charges
              WHERE fields ->> 'job_id' = '${past.job_id}' ORDER BY id LIMIT 1)`,
      {
        total: '1100.10',
      },
    );
    const {subtotal, total, balance} = past;
    await world.edit('jobs', job(numberOf(past)), {
      subtotal: plus100(subtotal),
      total: plus100(total),
      balance_remaining: plus100(balance),
    });
    await world.sweepAll();
    expect(await revenue('mart.fct_job')).toBeCloseTo(before + 100, 6);
    expect(await revenue(`mart.fct_job_as_of('${memories.beginning?.at}')`)).toBeCloseTo(before, 6);
  });

  test('a deleted job reverses its payment, and restores it when the job returns', async () => {
    const paid = await pick(`job.collected > 0 AND job.charges > 0 AND job.hours > 0`);
    await world.first.api.jobs.remove(String(paid.job_number));
    await world.sweepAll();
    expect(await reread(paid)).toBeUndefined();
    expect(await world.findBroken()).toEqual([]);
    memories.middle = await remember();
    await world.atService(
      `UPDATE service.jobs SET fields = fields - 'deleted_at' WHERE ${job(numberOf(paid))}`,
    );
    await world.sweepAll();
    expect(await reread(paid)).toMatchObject({collected: paid.collected});
    const steps = await world.query(
      `SELECT amount, paid_date::text FROM mart.fct_payment
        WHERE job_key = $1 ORDER BY observed_at`,
      [paid.job_key],
    );
    expect(steps.map(({amount}) => Number(amount))).toEqual(
      [1, -1, 1].map((sign) => sign * Number(paid.collected)),
    );
    expect(new Set(steps.map(({paid_date}) => paid_date)).size).toBe(1);
  });

  test('a deleted customer keeps its jobs that are not deleted', async () => {
    const kept = await pick(`job.customer_key <> -1 AND job.job_state = 'completed'`);
    const [customer] = await world.query(
      'SELECT customer_number FROM mart.dim_customer WHERE customer_key = $1',
      [kept.customer_key],
    );
    await world.edit('customers', `fields ->> 'customer_number' = '${customer?.customer_number}'`, {
      deleted_at: '2026-11-20T10:00:00Z',
    });
    await world.sweepAll();
    expect(await reread(kept)).toMatchObject({customer_key: kept.customer_key});
    expect(
      await world.query('SELECT is_deleted FROM mart.dim_customer WHERE customer_key = $1', [
        kept.customer_key,
      ]),
    ).toEqual([{is_deleted: true}]);
  });

  test('an appointment that moves is recorded as one reschedule with both times', async () => {
    const moved = await pick(`job.job_state = 'scheduled'`);
    await world.edit('jobs', job(numberOf(moved)), {scheduled_on: '2031-01-04T14:00:00Z'});
    await world.sweepAll();
    expect(
      await world.query(
        `SELECT from_scheduled_at, to_scheduled_at, to_date::text
           FROM mart.fct_reschedule WHERE job_key = $1`,
        [moved.job_key],
      ),
    ).toEqual([
      {
        from_scheduled_at: moved.scheduled_at,
        to_scheduled_at: expect.anything(),
        to_date: '2031-01-04',
      },
    ]);
  });

  test('a cancelled job is not open, and has no booked and no open amount', async () => {
    const open = await pick(`job.is_open AND job.subtotal > 0`);
    await world.edit('jobs', job(numberOf(open)), {canceled_on: '2026-11-21T10:00:00Z'});
    await world.sweepAll();
    expect(await reread(open)).toMatchObject({
      job_state: 'cancelled',
      booked_amount: '0',
      open_amount: '0',
      is_open: false,
    });
  });

  test('a subtotal with five decimals is divided among three without a remainder', async () => {
    const shared = await pick(`job.job_state = 'completed'`);
    await world.atService(
      `UPDATE service.jobs SET employee_ids = (SELECT array_agg(id ORDER BY id)
        FROM (SELECT id FROM service.employees ORDER BY id LIMIT 3) AS three)
        WHERE ${job(numberOf(shared))}`,
    );
    await world.edit('jobs', job(numberOf(shared)), {subtotal: '1000.00001'});
    await world.sweepAll();
    const shares = await world.query(
      `SELECT amount_share, job_share FROM mart.fct_assignment
        WHERE job_key = $1 ORDER BY assignment_key`,
      [shared.job_key],
    );
    expect(shares.map(({amount_share}) => amount_share).sort()).toEqual([
      '333.33',
      '333.33001',
      '333.34',
    ]);
    expect(shares.map(({job_share}) => Number(job_share)).sort()).toEqual([
      0.333333, 0.333333, 0.333334,
    ]);
  });

  test('completion times around midnight and in a repeated hour keep their date', async () => {
    const instants = [
      '2026-11-01T03:59:59Z',
      '2026-11-01T04:00:01Z',
      '2026-11-01T05:30:00Z',
      '2026-11-01T06:30:00Z',
    ];
    const picked = await world.query(
      `SELECT * FROM mart.fct_job WHERE account_key = $1 AND job_state = 'completed'
       ORDER BY job_number DESC LIMIT 4`,
      [world.first.account.accountId],
    );
    for (const [at, row] of picked.entries())
      await world.edit('jobs', job(numberOf(row)), {completed_on: instants[at] ?? null});
    await world.sweepAll();
    const dates: unknown[] = [];
    for (const row of picked)
      dates.push(
        (
          await world.query(
            'SELECT completed_date::text AS date FROM mart.fct_job WHERE job_key = $1',
            [row.job_key],
          )
        )[0]?.date,
      );
    expect(dates).toEqual(['2026-10-31', '2026-11-01', '2026-11-01', '2026-11-01']);
  });

  test('every tie-out holds at the end', async () => {
    expect(await world.findBroken()).toEqual([]);
  });
});

describe.each(['beginning', 'middle'] as const)('the star as of the %s', (when) => {
  test.each(ofMoments.filter((name) => name !== 'ask_freshness'))(
    '%s has exactly the rows that it had then',
    async (name) => {
      const {at, prints} = memories[when] ?? {at: '', prints: new Map()};
      expect(await fingerprint(`mart.${name}_as_of('${at}')`)).toEqual(prints.get(name));
    },
  );
});

test('the reader role can read every member and answer, now and as of the beginning', async () => {
  const client = await world.first.pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL ROLE fieldmirror_reader');
    for (const {name} of all) await client.query(`SELECT * FROM mart.${name} LIMIT 1`);
    for (const name of ofMoments)
      await client.query(`SELECT * FROM mart.${name}_as_of('${memories.beginning?.at}') LIMIT 1`);
    await expect(client.query('SELECT * FROM sync.accounts')).rejects.toThrow('permission denied');
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});
