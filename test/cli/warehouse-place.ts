// What is typed into a command that asks, and the schemas of a database.

import type pg from 'pg';
import {type Ended, programLine, startProgram} from '../support/command.ts';

export async function typeInto(
  args: readonly string[],
  line: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const shell = ['sh', '-c', `line=$1; shift; printf '%s\\n' "$line" | exec "$@"`, 'sh', line];
  return await startProgram([...shell, ...programLine(...args)], env).ended;
}

export async function listSchemas(client: pg.Client): Promise<string[]> {
  const {rows} = await client.query<{name: string}>(
    `SELECT nspname AS name FROM pg_namespace
     WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1`,
  );
  return rows.map(({name}) => name);
}
