// The login of all tests: an ordinary owner of databases, as a managed server gives one. What a
// superuser may do is left to the few tests that say so. It has the name that the embedded Postgres
// gives its user.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {withClient} from './with-client.ts';

export const owner = 'fieldmirror';

/** What tests may do beside what an owner may, each with its reason. */
const beyondAnOwner = [
  // Rows of any state are put in place without the triggers that would refuse them.
  `GRANT SET ON PARAMETER session_replication_role TO ${owner}`,
  // A server may log the statements that it refuses, and tests look for secrets in its log.
  `GRANT SET ON PARAMETER log_min_error_statement TO ${owner}`,
];

/**
 * Nobody guesses these passwords, and each of ten thousand sessions would work on them for
 * milliseconds. Postgres 15 has no such setting.
 */
const fewRounds = `SELECT set_config(name, '1', false) FROM pg_settings
  WHERE name = 'scram_iterations'`;

/** One cluster, by two logins. */
export interface Logins {
  readonly ownerUrl: string;
  readonly superuserUrl: string;
}

/**
 * Makes the login of the tests: no superuser, but one who may create databases and, unless
 * `TEST_OWNER` says `without CREATEROLE`, roles.
 * @param adminUrl - any database of the cluster, as a superuser; one of the owner's name is renamed
 */
export async function makePlainOwner(adminUrl: string): Promise<Logins> {
  const password = new URL(adminUrl).password || randomBytes(12).toString('base64url');
  const superuserUrl = withLogin(adminUrl, 'superuser', password);
  await withClient(adminUrl, async (admin) => {
    await admin.query(fewRounds);
    await admin.query(
      `CREATE ROLE superuser LOGIN SUPERUSER PASSWORD ${pg.escapeLiteral(password)}`,
    );
  });
  const mayCreateRoles = process.env.TEST_OWNER !== 'without CREATEROLE';
  await withClient(superuserUrl, async (superuser) => {
    await superuser.query(fewRounds);
    if (new URL(adminUrl).username === owner)
      await superuser.query(`ALTER ROLE ${owner} RENAME TO first_superuser`);
    const right = mayCreateRoles ? 'CREATEROLE' : 'NOCREATEROLE';
    await superuser.query(
      `CREATE ROLE ${owner} LOGIN NOSUPERUSER CREATEDB ${right} PASSWORD
        ${pg.escapeLiteral(password)}`,
    );
    const {rows} = await superuser.query<{isNew: boolean}>(
      `SELECT current_setting('server_version_num')::int >= 160000 AS "isNew"`,
    );
    // Tests act as the four roles. Who creates a role may do so where this asks for it, since
    // version 16. Else an administrator makes the roles, and the owner a member of each who may add
    // others.
    if (mayCreateRoles && rows[0]?.isNew === true)
      await superuser.query(`ALTER ROLE ${owner} SET createrole_self_grant = 'set, inherit'`);
    else
      for (const role of ['reader', 'author', 'worker', 'assistant'].map(
        (name) => `fieldmirror_${name}`,
      ))
        await superuser.query(
          `CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO ${owner} WITH ADMIN OPTION`,
        );
    for (const statement of beyondAnOwner) await superuser.query(statement);
  });
  return {ownerUrl: withLogin(adminUrl, owner, password), superuserUrl};
}

function withLogin(address: string, username: string, password: string): string {
  return Object.assign(new URL(address), {username, password}).href;
}
