// Changes on the warehouse of a console, as an ERP makes them; the effects of a worker are set by
// hand.

import type {ConsoleOptions} from '../../src/console/page.ts';
import {openPlace as openConsole, type Place} from './place.ts';

export interface ChangesPlace extends Place {
  /** Edits a customer of an account. @returns the number of the change */
  edit(number: number, values: string, given?: {readonly accountId?: string}): Promise<string>;
  /** Runs a statement that makes one change. @returns its number */
  make(statement: string): Promise<string>;
  /** Sets values of a change as a worker would. */
  set(id: string, values: string): Promise<void>;
  stateOf(id: string): Promise<string>;
  /** Both sides have changed these fields: each with what the service holds. */
  putInConflict(id: string, fields: Readonly<Record<string, string>>): Promise<void>;
  /** The latest entry of the audit. */
  // biome-ignore lint/suspicious/noExplicitAny: a row as it is
  lastAudit(): Promise<any>;
}

/** @param options - how the console is set up */
export async function openPlace(options: Partial<ConsoleOptions> = {}): Promise<ChangesPlace> {
  const place = await openConsole(options);
  const {pool, account} = place;
  const make = async (statement: string) => {
    await pool.query(statement);
    const {rows} = await pool.query('SELECT max(change_id) AS id FROM sync.changes');
    return rows[0].id;
  };
  const set = async (id: string, values: string) => {
    await pool.query(`UPDATE sync.changes SET ${values} WHERE change_id = $1`, [id]);
  };
  return {
    ...place,
    make,
    set,
    edit: async (number, values, {accountId = account.accountId} = {}) =>
      await make(
        `UPDATE warehouse.customers SET ${values} WHERE account_id = ${accountId}
          AND customer_number = ${number}`,
      ),
    stateOf: async (id) =>
      (await pool.query('SELECT state FROM sync.changes WHERE change_id = $1', [id])).rows[0].state,
    putInConflict: async (id, fields) => {
      await set(
        id,
        `state = 'conflict', reason = 'changed on both sides: ${Object.keys(fields).join(', ')}'`,
      );
      for (const [field, value] of Object.entries(fields))
        await pool.query(
          `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value,
            rule)
           SELECT change_id, $2, base->$2, fields->$2, $3, 'ask' FROM sync.changes
           WHERE change_id = $1`,
          [id, field, JSON.stringify(value)],
        );
    },
    lastAudit: async () =>
      (await pool.query('SELECT * FROM sync.audit ORDER BY audit_id DESC LIMIT 1')).rows[0],
  };
}
