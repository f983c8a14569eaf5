// The tie-outs of one state of the warehouse, and how a reader gets one in which the star has all.

import type pg from 'pg';
import {refreshStar} from './refresh-star.ts';
import {tieOuts} from './tie-outs.ts';

/** A claim, and how many rows break it. */
export interface Tie {
  readonly name: string;
  readonly claim: string;
  readonly broken: number;
}

/** A star that is behind is refreshed so often before it is checked as it is. */
const mostRefreshes = 3;

/**
 * Begins to read at a moment at which the star has all that the warehouse has, where there is one.
 * @returns how many changes it lacks
 */
export async function beginUpToDate(pool: pg.Pool, client: pg.ClientBase): Promise<number> {
  let mayRefresh = true;
  for (let refreshes = 0; ; refreshes++) {
    // One moment for all: a sweep that ends between two claims breaks none.
    await client.query(
      'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; ' +
        'SET LOCAL statement_timeout = 0',
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

/** Checks every claim in the caller's transaction. */
export async function readTies(client: pg.ClientBase): Promise<Tie[]> {
  const ties: Tie[] = [];
  for (const {name, claim, sql} of tieOuts) {
    const {rows} = await client.query<{count: number}>(
      `SELECT count(*)::integer AS count FROM (${sql}) AS broken`,
    );
    ties.push({name, claim, broken: rows[0]?.count ?? 0});
  }
  return ties;
}
