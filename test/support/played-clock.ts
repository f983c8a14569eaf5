// A clock for one database, so that days pass within seconds: now() and clock_timestamp() tell the
// moment that a session was opened with, and go on from there. Column defaults, views and functions
// tell it too, for the planner puts their bodies in place. transaction_timestamp() and
// statement_timestamp() stay right; nothing of ours uses them.

import {withClient} from './with-client.ts';

/** Gives the database a clock that `urlAt` sets. */
export async function installClock(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('SET allow_system_table_mods = on');
    for (const [name, kind] of [
      ['now', 'STABLE'],
      ['clock_timestamp', 'VOLATILE'],
    ])
      await client.query(
        `CREATE FUNCTION pg_catalog.right_${name}() RETURNS timestamptz
          LANGUAGE internal ${kind} STRICT PARALLEL SAFE AS '${name}';
         CREATE OR REPLACE FUNCTION pg_catalog.${name}() RETURNS timestamptz
           LANGUAGE sql ${kind} PARALLEL SAFE
             AS $$ SELECT pg_catalog.right_${name}() +
               coalesce(nullif(current_setting('played.ahead', true), ''), '0')::interval $$`,
      );
  });
}

/** The address for sessions that begin at a moment. */
export function urlAt(databaseUrl: string, moment: Date): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('options', `-c played.ahead=${moment.getTime() - Date.now()}ms`);
  return url.href;
}
