// The rows as of a moment: the right ones, at every edge; and what they and the star cost does not
// grow with the number of versions.

import pg from 'pg';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {allTables} from '../../src/streams/all.ts';
import type {ColumnType} from '../../src/streams/table.ts';
import {ofMoments} from '../schema/written-star.ts';
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

test('a version of any length holds from its start until just before its end', async () => {
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

const rowCount = 500;
const versionCount = 80;

/** A value of each type, so that rows of different tables with one row_id belong together. */
const valuesByType: Readonly<Record<ColumnType, string>> = {
  text: `'Roof of slate'`,
  integer: 'row_id',
  decimal: '1.25',
  float: '1.25',
  boolean: 'true',
  instant: `now() - interval '10 days'`,
  nested: `'{}'`,
};

/** One present row for each number in every table of the warehouse. */
async function writeRows(): Promise<void> {
  for (const {name, columns} of allTables) {
    const own = ['row_id', 'account_id', '_sweep_id', '_changed_at'];
    const names = [...own, ...columns.map((column) => pg.escapeIdentifier(column.name))].join(', ');
    const values = columns.map(({type}) => valuesByType[type]).join(', ');
    await writePastTriggers(
      pool,
      [`warehouse.${name}`],
      [
        `INSERT INTO warehouse.${name} (${names}) OVERRIDING SYSTEM VALUE
         SELECT row_id, 1, 1, now() - interval '400 days', ${values}
           FROM generate_series(1, ${rowCount}) AS row_id`,
      ],
    );
  }
}

/** Each row was changed at random moments of 400 days; a past version is as wide as the row. */
async function writePast(): Promise<void> {
  await pool.query(
    `CREATE TABLE public.versions AS
     SELECT row_id, at AS begun, lead(at) OVER (PARTITION BY row_id ORDER BY at) AS ended
       FROM (SELECT row_id, now() - interval '400 days' * CASE nth WHEN 0 THEN 1
                      ELSE (row_id * 7919 + nth * 104729) % 100003 / 100003.0 END AS at
               FROM generate_series(1, ${rowCount}) AS row_id,
                    generate_series(0, ${versionCount}) AS nth) AS moments`,
  );
  for (const {name, columns} of allTables) {
    const names = columns.map((column) => `, ${pg.escapeIdentifier(column.name)}`).join('');
    await writePastTriggers(
      pool,
      [`warehouse.${name}`, `history.past_${name}`],
      [
        `INSERT INTO history.past_${name} (valid_to, _changed_at, row_id, account_id ${names})
         SELECT ended, begun, row_id, account_id ${names}
           FROM public.versions JOIN warehouse.${name} USING (row_id)
          WHERE ended IS NOT NULL ORDER BY ended`,
        `UPDATE warehouse.${name} AS held SET _changed_at = begun
           FROM public.versions AS version
          WHERE version.row_id = held.row_id AND ended IS NULL`,
      ],
    );
    await pool.query(`VACUUM FULL ANALYZE warehouse.${name}`);
  }
}

/** They read every version at any moment, and now: what was observed is told by versions alone. */
const ofVersions = new Set(['ask_collected', 'ask_reschedules']);
const asOf = [
  ...allTables.map(({name}) => `history.${name}_as_of`),
  ...ofMoments.filter((name) => !ofVersions.has(name)).map((name) => `mart.${name}_as_of`),
];
const agos = ['1 day', '200 days', '399 days'];

/** A function of a moment, and how long ago that is. */
interface Place {
  readonly name: string;
  readonly ago: string;
}

/** The pages that each of these reads. */
async function countAll(places: readonly Place[]): Promise<readonly (Place & {pages: number})[]> {
  const counted = [];
  for (const place of places) {
    const statement = `SELECT held.* FROM ${place.name}(now() - $1::interval) AS held`;
    counted.push({...place, pages: await countPages(pool, statement, [place.ago])});
  }
  return counted;
}

test('the state at a past time reads at most six times the pages of unchanged rows', {
  timeout: 600_000,
}, async () => {
  // As `ask` and `export` read a moment, and as docs/bi-tools.md says for others.
  await pool.query('SET enable_nestloop = off; SET jit = off');
  await pool.query(
    `INSERT INTO mart.settings (account_key, working_hours) VALUES (1, '{8,8,8,8,8,0,0}')`,
  );
  await writeRows();
  // A function that is new to a session also reads the catalogue, so each is read once before.
  await countAll(asOf.map((name) => ({name, ago: '0'})));
  const unchanged = await countAll(asOf.flatMap((name) => agos.map((ago) => ({name, ago}))));
  await writePast();
  const readMore = async (places: typeof unchanged) =>
    (await countAll(places)).flatMap(({pages, ...place}, at) => {
      const {pages: before = 0} = places[at] ?? {};
      return pages > 6 * before ? [{...place, pages: before, withPast: pages}] : [];
    });
  // What other tables did may make a session read the catalogue again, once.
  expect(await readMore(await readMore(unchanged))).toEqual([]);
});
