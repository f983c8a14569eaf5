import type pg from 'pg';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {refreshStar} from '../star/refresh-star.ts';
import {findings, tieOuts} from '../star/tie-outs.ts';
import {drawChecked, type Found, type Tie} from './draw-insight-check.ts';
import {print} from './report.ts';
import {tellStep} from './tell-step.ts';
import {withWarehouse} from './with-warehouse.ts';

/** Of each finding so many are named. */
const named = 3;

/** A star that is behind is refreshed so often before it is checked as it is. */
const mostRefreshes = 3;

/**
 * Checks that the star ties out with the warehouse, and counts what a person may want to look at.
 * @returns the exit code: 1 where a tie-out does not hold, 3 where changes wait to be written into
 *   the star, so that none can be
 *   told; a finding is no failure
 */
export async function check(config: Config, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    if (!options.json)
      tellStep(`checking ${tieOuts.length} tie-outs and ${findings.length} findings`);
    const client = await pool.connect();
    try {
      const waiting = await beginUpToDate(pool, client);
      const ties = await readTies(client);
      const found = await readFindings(client);
      const note =
        waiting === 0
          ? ''
          : `\nBeware: ${formatNumber(waiting)} changes wait to be written into the star, as during a sweep; until then a tie-out may not hold.`;
      print(options.json, {
        json: {waiting, tieOuts: ties, findings: found},
        text: `${drawChecked(ties, found)}${note}`,
      });
      if (ties.every(({broken}) => broken === 0)) return 0;
      return waiting > 0 ? 3 : 1;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

/**
 * Begins to read at a moment at which the star has all that the warehouse has, where there is one.
 * @returns how many changes it lacks
 */
async function beginUpToDate(pool: pg.Pool, client: pg.ClientBase): Promise<number> {
  let mayRefresh = true;
  for (let refreshes = 0; ; refreshes++) {
    // One moment for all: a sweep that ends between two claims breaks none.
    await client.query(
      'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; SET LOCAL statement_timeout = 0',
    );
    const {rows} = await client.query<{waiting: number}>(
      'SELECT waiting::integer FROM mart.freshness',
    );
    const waiting = rows[0]?.waiting ?? 0;
    if (waiting === 0 || refreshes === mostRefreshes || !mayRefresh) return waiting;
    await client.query('ROLLBACK');
    mayRefresh = await refreshIfAllowed(pool);
  }
}

/** @returns false where the login may only read */
async function refreshIfAllowed(pool: pg.Pool): Promise<boolean> {
  try {
    await refreshStar(pool);
    return true;
  } catch (error) {
    const isDenied = error instanceof Error && 'code' in error && error.code === '42501';
    if (!isDenied) throw error;
    return false;
  }
}

async function readTies(client: pg.ClientBase): Promise<Tie[]> {
  const ties: Tie[] = [];
  for (const {name, claim, sql} of tieOuts) {
    const {rows} = await client.query<{count: number}>(
      `SELECT count(*)::integer AS count FROM (${sql}) AS broken`,
    );
    ties.push({name, claim, broken: rows[0]?.count ?? 0});
  }
  return ties;
}

async function readFindings(client: pg.ClientBase): Promise<Found[]> {
  const found: Found[] = [];
  for (const {name, words, sql} of findings) {
    const {rows} = await client.query<{count: number; first: string[]}>(
      `SELECT count(*)::integer AS count, coalesce((array_agg(about ORDER BY about))[1:${named}], '{}') AS first FROM (${sql}) AS found`,
    );
    found.push({name, words, count: rows[0]?.count ?? 0, first: rows[0]?.first ?? []});
  }
  return found;
}
