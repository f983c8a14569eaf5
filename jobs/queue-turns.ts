// BullMQ's functions take turns by advisory locks, and any login may take those: the queue would
// stand still. In their place they find functions of the same names in their own schema, which lock
// rows of a table that only a worker may lock.

import type pg from 'pg';

/**
 * Where BullMQ's functions look for names: functions of the schema stand before those of Postgres.
 */
export const pathOf = (schema: string) => `${schema}, pg_catalog, pg_temp`;

const forms = [
  {parameters: 'bigint', key: '$1::text'},
  {parameters: 'integer, integer', key: `$1 || ' ' || $2`},
];

const kinds = [
  {name: 'pg_advisory_xact_lock', mode: 'UPDATE', returns: 'void'},
  {name: 'pg_advisory_xact_lock_shared', mode: 'SHARE', returns: 'void'},
  {name: 'pg_try_advisory_xact_lock', mode: 'UPDATE SKIP LOCKED', returns: 'boolean'},
];

/** The functions that stand in for those of Postgres, with their parameters. */
export const standIns = kinds.flatMap(({name}) =>
  forms.map(({parameters}) => `${name}(${parameters})`),
);

/** Makes the table and the functions; BullMQ's own may be there or not. */
export async function makeTurns(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema};
    CREATE TABLE IF NOT EXISTS ${schema}.turn (key text PRIMARY KEY)`);
  for (const {name, mode, returns} of kinds)
    for (const {parameters, key} of forms)
      await client.query(
        `CREATE OR REPLACE FUNCTION ${schema}.${name}(${parameters}) RETURNS ${returns}
         LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
         BEGIN
           INSERT INTO ${schema}.turn (key) SELECT ${key}
            WHERE NOT EXISTS (SELECT FROM ${schema}.turn WHERE key = ${key}) ON CONFLICT DO NOTHING;
           PERFORM FROM ${schema}.turn WHERE key = ${key} FOR ${mode};
           ${returns === 'boolean' ? 'RETURN FOUND;' : ''}
         END $$`,
      );
}

/** Lets BullMQ's functions find those of `makeTurns`. */
export async function useTurns(client: pg.ClientBase, schema: string): Promise<void> {
  const {rows} = await client.query<{name: string}>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc
      WHERE pronamespace = $1::regnamespace AND prokind = 'f' AND proconfig @> ARRAY['search_path=' || $1]`,
    [schema],
  );
  for (const {name} of rows)
    await client.query(`ALTER FUNCTION ${name} SET search_path = ${pathOf(schema)}`);
}
