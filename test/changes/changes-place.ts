// A warehouse with a few customers, made for each test of a file that uses it, and the
// commands about changes. Plain SQL makes the changes; the effects of a worker are set by hand.

import type pg from 'pg';
import {afterEach, beforeEach, expect, inject} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

export let database: TestDatabase;
export let pool: pg.Pool;

/** Makes the place for each test of the file that calls this. */
export function useChangesPlace(): void {
  beforeEach(async () => {
    database = await createDatabase(inject('warehouseTemplate'));
    pool = openPool(database.url, {max: 2, applicationName: 'erp-bridge'});
    await pool.query(
      `INSERT INTO sync.accounts (name, api_url, time_zone)
        VALUES ('acme', 'https://example.com/acme', 'America/New_York')`,
    );
    await asSweep(
      `INSERT INTO warehouse.customers (customer_number, name, phone_number, email_address,
        _sweep_id, _page, _hash)
       SELECT n, 'Customer ' || n, '555-' || n, n || '@example.com', 1, 1, '\\x00'
       FROM generate_series(1, 9) AS n`,
    );
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });
}

export const changes = (...args: string[]) =>
  runCommand(['changes', ...args], {DATABASE_URL: database.url});

export async function told(...args: string[]) {
  const ended = await changes(...args, '--json');
  expect(ended.stderr).toBe('');
  return JSON.parse(ended.stdout);
}

/** Writes as a worker does. */
export async function asSweep(statement: string): Promise<void> {
  await pool.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'; ${statement}; COMMIT`);
}

/** Edits a customer's phone number as an ERP does. @returns the number of the change */
export async function editPhone(number: number, phone = '555-0199'): Promise<string> {
  const statement = `UPDATE warehouse.customers SET phone_number = $2 WHERE customer_number = $1`;
  await pool.query(statement, [number, phone]);
  return await lastChange();
}

export async function addCustomer(fields = `name = 'New'`): Promise<string> {
  const [column, value] = fields.split(' = ');
  await pool.query(`INSERT INTO warehouse.customers (${column}) VALUES (${value})`);
  return await lastChange();
}

async function lastChange(): Promise<string> {
  const {rows} = await pool.query('SELECT max(change_id) AS id FROM sync.changes');
  return rows[0].id;
}

/** Sets values of a change as a worker would. */
export async function set(id: string, values: string): Promise<void> {
  await pool.query(`UPDATE sync.changes SET ${values} WHERE change_id = $1`, [id]);
}

export async function stateOf(id: string): Promise<string> {
  const {rows} = await pool.query('SELECT state FROM sync.changes WHERE change_id = $1', [id]);
  return rows[0].state;
}

export async function putInConflict(id: string, field = 'phone_number'): Promise<void> {
  await set(id, `state = 'conflict', reason = 'changed on both sides: ${field}'`);
  await pool.query(
    `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value, rule)
     VALUES ($1, $2, '"555-1"', '"555-0199"', '"555-0300"', 'ask')`,
    [id, field],
  );
}
