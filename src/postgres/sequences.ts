import type pg from 'pg';
import {FatalError} from '../core/errors.ts';

/** A sequence that would give a number which is taken already. */
export interface SpentSequence {
  /** With its schema, as in `warehouse.customers_row_id_seq`. */
  readonly sequence: string;
  readonly table: string;
  readonly column: string;
  /** The last number that it gave; 0 before the first. */
  readonly last: string;
  /** The highest number in the table, or in its history. */
  readonly highest: string;
}

// The catalogue knows every column that counts, those added later too. The number of a row that is
// gone counts as well: given once more, two rows would share one history.
const listSequences = `
  SELECT counter.oid::regclass::text AS sequence, owner.oid::regclass::text AS "table", attname AS "column",
         to_regclass(format('history.%I', 'past_' || owner.relname))::text AS past
    FROM pg_class AS counter
    JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = counter.oid AND refclassid = 'pg_class'::regclass AND deptype IN ('i', 'a')
    JOIN pg_class AS owner ON owner.oid = refobjid
    JOIN pg_attribute ON attrelid = owner.oid AND attnum = refobjsubid
   WHERE counter.relkind = 'S' AND owner.relnamespace IN ('warehouse'::regnamespace, 'sync'::regnamespace)
   ORDER BY 1`;

/**
 * Finds the sequences that are behind the numbers in use, as after a restore that left them behind,
 * or after rows that came with numbers of their own. One look into an index each.
 */
export async function findSpentSequences(pool: pg.Pool): Promise<SpentSequence[]> {
  const {rows: all} = await pool.query<
    Record<'sequence' | 'table' | 'column', string> & {past: string | null}
  >(listSequences);
  // The names are quoted by Postgres itself.
  const looks = all.map(({sequence, table, column, past}, at) => {
    const highest = [table, ...(past === null ? [] : [past])].map(
      (place) => `(SELECT max(${column}) FROM ${place})`,
    );
    return `SELECT ${at} AS at, coalesce(pg_sequence_last_value('${sequence}'::regclass), 0)::text AS last,
                   greatest(${highest.join(', ')})::text AS highest`;
  });
  const {rows} = await pool.query<{at: number; last: string; highest: string | null}>(
    looks.join(' UNION ALL '),
  );
  return rows.flatMap(({at, last, highest}) => {
    const about = all[at];
    const isSpent = about !== undefined && highest !== null && BigInt(highest) > BigInt(last);
    return isSpent
      ? [{sequence: about.sequence, table: about.table, column: about.column, last, highest}]
      : [];
  });
}

/** The fault of a sequence, and the next step. */
export function describeSpent({sequence, table, column, last, highest}: SpentSequence): string {
  return (
    `${sequence}: expected at least ${highest}, the highest ${column} that ${table} has or had, got ${last}: new rows would get ` +
    `numbers that are taken, as after a restore without sequences; let the owner run SELECT setval('${sequence}', ${highest})`
  );
}

/** @throws {FatalError} a sequence is behind its table */
export async function checkSequences(pool: pg.Pool): Promise<void> {
  const spent = await findSpentSequences(pool);
  if (spent.length > 0)
    throw new FatalError(spent.map(describeSpent).join('\n'), {kind: 'sequences'});
}
