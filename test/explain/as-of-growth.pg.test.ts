// The rows as of a moment: the right ones, at every edge, and what they cost does not grow with the
// number of versions.

import type pg from 'pg';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {countPages, openEmptyWarehouse, writePastTriggers} from '../support/many-rows.ts';

let warehouse: Awaited<ReturnType<typeof openEmptyWarehouse>>;
let pool: pg.Pool;

beforeEach(async () => {
  warehouse = await openEmptyWarehouse();
  ({pool} = warehouse);
});

afterEach(() => warehouse?.close());

/** @param versions - SQL that gives `row_id, begun, ended`; `ended` is null of the present one */
async function writeVersions(versions: string): Promise<void> {
  const columns = 'row_id, account_id, job_number, name, _sweep_id, _changed_at';
  const values = `row_id, 1, row_id, repeat('Roof ', 60), 1, begun`;
  await writePastTriggers(
    pool,
    ['warehouse.jobs', 'history.past_jobs'],
    [
      `CREATE TABLE public.versions AS ${versions}`,
      `INSERT INTO warehouse.jobs (${columns}) OVERRIDING SYSTEM VALUE
       SELECT ${values} FROM public.versions WHERE ended IS NULL ORDER BY row_id`,
      `INSERT INTO history.past_jobs (valid_to, ${columns})
       SELECT ended, ${values} FROM public.versions WHERE ended IS NOT NULL ORDER BY ended`,
    ],
  );
}

test('each version is there from its begin until before its end, however long it was', async () => {
  // Just at, below and above each bound of the classes of the index, and far beyond the last.
  await writeVersions(
    `SELECT row_number() OVER () AS row_id, '2026-03-29 01:30+01'::timestamptz AS begun,
            '2026-03-29 01:30+01'::timestamptz + length AS ended
       FROM (SELECT hours * interval '1 hour' + off * interval '1 microsecond' AS length
               FROM unnest('{0,1,8,128,2048,20000}'::integer[]) AS hours,
                    generate_series(-1, 1) AS off) AS lengths
      WHERE length > interval '0' UNION ALL SELECT 1000, '2026-03-29 01:30+01', NULL`,
  );
  await pool.query(`SET TimeZone = 'Europe/Berlin'`);
  const expected = `SELECT row_id FROM public.versions
     WHERE begun <= moment AND coalesce(ended > moment, true)`;
  const got = 'SELECT row_id FROM history.jobs_as_of(moment)';
  const {rows} = await pool.query<{moment: string; wrong: number}>(
    `SELECT moment::text, (SELECT count(*)::integer FROM (
              (${got} EXCEPT ALL ${expected}) UNION ALL (${expected} EXCEPT ALL ${got})
            ) AS differs) AS wrong
       FROM (SELECT DISTINCT edge + off * interval '1 microsecond' AS moment
               FROM public.versions CROSS JOIN unnest(ARRAY[begun, ended]) AS edge
              CROSS JOIN generate_series(-1, 1) AS off WHERE edge IS NOT NULL) AS moments`,
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter(({wrong}) => wrong > 0)).toEqual([]);
});

test('any moment reads at most six times the pages of now, however many versions', async () => {
  const jobs = 2_000;
  await writeVersions(
    `SELECT row_id, at AS begun, lead(at) OVER (PARTITION BY row_id ORDER BY at) AS ended
       FROM (SELECT row_id, now() - interval '400 days' * CASE nth WHEN 0 THEN 1
                      ELSE (row_id * 7919 + nth * 104729) % 100003 / 100003.0 END AS at
               FROM generate_series(1, ${jobs}) AS row_id, generate_series(0, 40) AS nth)
            AS moments`,
  );
  const pages = async (ago: string) =>
    await countPages(
      pool,
      `SELECT job_number, name FROM history.jobs_as_of(now() - $1::interval)`,
      [ago],
    );
  const now = await pages('0');
  for (const ago of ['1 day', '30 days', '200 days', '390 days', '399 days'])
    expect(await pages(ago), ago).toBeLessThanOrEqual(6 * now);
});
