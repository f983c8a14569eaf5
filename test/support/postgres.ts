import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {inject} from 'vitest';
import {openPlainPool} from './with-client.ts';

/** A database for one test on the cluster that all tests share. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Makes an empty database, or a copy of the template that is named. */
export async function createDatabase(template = 'template0'): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runAsAdmin(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  // Postgres copies no rights on the database itself. A warehouse's migration has set these.
  if (template === inject('warehouseTemplate'))
    await runAsAdmin(
      adminUrl,
      `GRANT TEMPORARY ON DATABASE ${name} TO fieldmirror_worker; REVOKE TEMPORARY
        ON DATABASE ${name} FROM PUBLIC`,
    );
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    // The server's own processes that clean up a database are a superuser's: only a superuser ends
    // them.
    drop: () => runAsAdmin(inject('superuserUrl'), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/**
 * The address of the same database for what no owner may do: to read files and logs of the server,
 * and its catalogue whole.
 */
export function asSuperuser(url: string): string {
  return Object.assign(new URL(inject('superuserUrl')), {pathname: new URL(url).pathname}).href;
}

/** The address for connections that mend rows here: nothing they write becomes a change. */
export function asRepair(url: string): string {
  const repair = new URL(url);
  repair.searchParams.set('options', '-c fieldmirror.writer=repair');
  return repair.href;
}

/**
 * Databases are made and dropped by the hundred: one after another has the same session. It ends
 * soon after the last, so that the server is left as soon as no test needs it.
 */
const keptMs = 250;
const pools = new Map<string, pg.Pool>();

async function runAsAdmin(url: string, statement: string): Promise<void> {
  let pool = pools.get(url);
  if (pool === undefined) {
    pool = openPlainPool(url, {idleTimeoutMillis: keptMs, allowExitOnIdle: true});
    pools.set(url, pool);
  }
  await pool.query(statement);
}
