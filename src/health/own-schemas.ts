// The schemas that are ours, as a whole: what they hold, what stands on them, and their end.

import type {Queryable} from '../postgres/database.ts';

/** Each is made by our migrations, but for that of the queue, which its package makes. */
const ownSchemas = ['warehouse', 'history', 'mart', 'masked', 'sync', 'bullmq'];

/** A schema of ours that is there. */
export interface OwnSchema {
  readonly schema: string;
  readonly tables: number;
  /** On disk, with its indexes. */
  readonly bytes: number;
}

export async function listOwnSchemas(db: Queryable): Promise<OwnSchema[]> {
  const {rows} = await db.query<OwnSchema>(
    `SELECT nspname AS schema, count(class.oid)::int AS tables,
            coalesce(sum(pg_total_relation_size(class.oid)), 0)::double precision AS bytes
       FROM pg_namespace AS place
       LEFT JOIN pg_class AS class ON relnamespace = place.oid AND relkind IN ('r', 'm')
      WHERE nspname = ANY($1)
      GROUP BY nspname ORDER BY array_position($1, nspname::text)`,
    [ownSchemas],
  );
  return rows;
}

/**
 * Views and tables outside our schemas that would go or lose a constraint with them, by their
 * names.
 */
export async function listDependents(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{name: string}>(
    `WITH ours AS (SELECT oid FROM pg_namespace WHERE nspname = ANY($1)),
          things AS (SELECT 'pg_class'::regclass AS catalog, oid FROM pg_class WHERE relnamespace IN (SELECT oid FROM ours)
                     UNION ALL
                     SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace IN (SELECT oid FROM ours)
                     UNION ALL
                     SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace IN (SELECT oid FROM ours)),
          standing AS (SELECT classid, objid FROM pg_depend JOIN things ON refclassid = catalog AND refobjid = things.oid
                        WHERE deptype IN ('n', 'a')),
          relations AS (SELECT objid AS oid FROM standing WHERE classid = 'pg_class'::regclass
                        UNION SELECT ev_class FROM pg_rewrite JOIN standing ON classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid
                        UNION SELECT conrelid FROM pg_constraint JOIN standing ON classid = 'pg_constraint'::regclass AND objid = pg_constraint.oid
                        UNION SELECT tgrelid FROM pg_trigger JOIN standing ON classid = 'pg_trigger'::regclass AND objid = pg_trigger.oid
                        UNION SELECT adrelid FROM pg_attrdef JOIN standing ON classid = 'pg_attrdef'::regclass AND objid = pg_attrdef.oid),
          functions AS (SELECT pg_proc.oid, pronamespace, proname FROM pg_proc JOIN standing ON classid = 'pg_proc'::regclass AND objid = pg_proc.oid)
     SELECT format('%I.%I', nspname, relname) AS name
       FROM pg_class JOIN relations USING (oid) JOIN pg_namespace AS place ON place.oid = relnamespace
      WHERE relnamespace NOT IN (SELECT oid FROM ours) AND nspname !~ '^pg_'
      UNION
     SELECT format('%I.%I()', nspname, proname)
       FROM functions JOIN pg_namespace AS place ON place.oid = pronamespace
      WHERE pronamespace NOT IN (SELECT oid FROM ours)
      ORDER BY name`,
    [ownSchemas],
  );
  return rows.map(({name}) => name);
}

/** Removes our schemas with all that they hold, in a transaction of the caller. */
export async function dropOwnSchemas(db: Queryable, schemas: readonly OwnSchema[]): Promise<void> {
  const names = schemas.map(({schema}) => `"${schema}"`).join(', ');
  if (names !== '') await db.query(`DROP SCHEMA ${names} CASCADE`);
}
