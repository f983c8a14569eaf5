// Logins of a warehouse, each with a session of its own, as its users have them.

import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {openPool} from '../../src/postgres/database.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

export interface Login {
  readonly name: string;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

/** @param role - the role of Fieldmirror that it is a member of; null: of none */
export async function openLogin(url: string, role: string | null): Promise<Login> {
  const name = `login_${randomBytes(6).toString('hex')}`;
  await makeRole(name, `LOGIN PASSWORD 'made-up' ${role === null ? '' : `IN ROLE ${role}`}`);
  const address = Object.assign(new URL(url), {username: name, password: 'made-up'}).href;
  const pool = openPool(address, {max: 2, applicationName: 'erp'});
  return {
    name,
    pool,
    close: async () => {
      await pool.end();
      await dropRoles(name);
    },
  };
}
