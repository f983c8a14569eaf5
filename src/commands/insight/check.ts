import type {Config} from '../../base/config.ts';
import {FatalError} from '../../base/errors.ts';
import {findings} from '../../insight/check/findings.ts';
import {tieOuts} from '../../insight/check/tie-outs.ts';
import {checkMigrations} from '../../warehouse/schema/migration-check.ts';
import {drawTable, print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';

/** Of each finding so many are named. */
const named = 3;

/**
 * Checks that the star ties out with the warehouse, and counts what a person may want to look at.
 * @returns the exit code: 1 where a tie-out does not hold; a finding is no failure
 */
export async function check(config: Config, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`);
    const client = await pool.connect();
    try {
      // One moment for all: a sweep that ends between two of them breaks no claim.
      await client.query(
        'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off; SET LOCAL statement_timeout = 0',
      );
      const ties: {name: string; claim: string; broken: number}[] = [];
      for (const {name, claim, sql} of tieOuts) {
        const {rows} = await client.query<{count: number}>(
          `SELECT count(*)::integer AS count FROM (${sql}) AS broken`,
        );
        ties.push({name, claim, broken: rows[0]?.count ?? 0});
      }
      const found: {name: string; words: string; count: number; first: string[]}[] = [];
      for (const {name, words, sql} of findings) {
        const {rows} = await client.query<{count: number; first: string[]}>(
          `SELECT count(*)::integer AS count, coalesce((array_agg(about ORDER BY about))[1:${named}], '{}') AS first FROM (${sql}) AS found`,
        );
        found.push({name, words, count: rows[0]?.count ?? 0, first: rows[0]?.first ?? []});
      }
      print(options.json, {json: {tieOuts: ties, findings: found}, text: draw(ties, found)});
      return ties.some(({broken}) => broken > 0) ? 1 : 0;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

function draw(
  ties: readonly {readonly name: string; readonly claim: string; readonly broken: number}[],
  found: readonly {
    readonly name: string;
    readonly words: string;
    readonly count: number;
    readonly first: readonly string[];
  }[],
): string {
  const claims = drawTable(
    ['tie-out', 'holds', 'claim'],
    ties.map(({name, claim, broken}) => [name, broken === 0 ? 'yes' : `no, ${broken} times`, claim]),
  );
  const looked = drawTable(
    ['finding', 'times', 'what it is', 'as in'],
    found.map(({name, words, count, first}) => [name, count, words, first.join('; ')]),
  );
  return `${claims}\n${looked}`;
}
