import type pg from 'pg';
import {nameDependents} from './name-dependents.ts';
import type {StarMember} from './star-member.ts';

/**
 * Removes from `mart` what an earlier version made of the star and this one does not: members, and
 * functions that have another signature now. `masked` holds members alone, so that its views name
 * them; everything else in `mart` may be somebody else's, and stays. The caller has applied the
 * source and the star in this transaction.
 * @throws {FatalError} others stand on what would go
 */
export async function dropStarLeftovers(
  client: pg.ClientBase,
  star: readonly StarMember[],
): Promise<void> {
  await drop(client, oldFunctions);
  await drop(client, oldMembers, [star.map(({name}) => name)]);
}

// A function that was applied now is as old as this transaction; an older one of its name has
// another signature.
const oldFunctions = `
  SELECT 'FUNCTION ' || oid::regprocedure AS leftover FROM pg_proc
   WHERE pronamespace = 'mart'::regnamespace AND age(xmin) > 0
     AND (proname LIKE '%\\_as\\_of' AND to_regclass(format('masked.%I', left(proname, -6))) IS NOT NULL
          OR proname IN (SELECT made.proname FROM pg_proc AS made WHERE made.pronamespace = 'mart'::regnamespace AND age(made.xmin) <= 0))`;

const oldMembers = `
  SELECT CASE held.relkind WHEN 'v' THEN 'VIEW ' ELSE 'TABLE ' END || held.oid::regclass AS leftover
    FROM pg_class AS masked
    JOIN LATERAL (VALUES ('masked', '', 1), ('mart', '', 2), ('sync', 'all_', 3)) AS part (place, prefix, turn) ON true
    JOIN pg_class AS held ON held.oid = to_regclass(format('%I.%I', place, prefix || masked.relname))
   WHERE masked.relnamespace = 'masked'::regnamespace AND masked.relkind = 'v' AND masked.relname <> ALL ($1)
   ORDER BY turn, masked.oid DESC`;

async function drop(client: pg.ClientBase, query: string, values: unknown[] = []): Promise<void> {
  const {rows} = await client.query<{leftover: string}>(query, values);
  for (const {leftover} of rows) {
    await nameDependents(`${leftover}: this version has it no more`, () =>
      client.query(`DROP ${leftover}`),
    );
  }
}
