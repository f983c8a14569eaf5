// Roles of tests, made as an administrator makes them: the tests' owner may not be one who creates
// roles, and on version 15 it is no member of those that it creates.

import {inject} from 'vitest';
import {owner} from './plain-owner.ts';
import {withClient} from './with-client.ts';

/**
 * Makes a role, as which the tests' owner may act. Roles belong to the whole cluster, and need
 * names that no other test has.
 * @param rest - as CREATE ROLE has it: `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_author`
 */
export async function makeRole(name: string, rest = ''): Promise<void> {
  await withClient(inject('superuserUrl'), (admin) =>
    admin.query(`CREATE ROLE ${name} ${rest}; GRANT ${name} TO ${owner}`),
  );
}

/**
 * Removes roles that own nothing any more, and have no right of their own; those that are not there
 * are passed over.
 */
export async function dropRoles(...names: readonly string[]): Promise<void> {
  await withClient(inject('superuserUrl'), (admin) =>
    admin.query(`DROP ROLE IF EXISTS ${names.join(', ')}`),
  );
}
