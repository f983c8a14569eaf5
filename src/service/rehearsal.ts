// A rehearsal: the service holds the records of an account in place of a made-up business. What was
// done to them is read from the journal.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {
  copyRows,
  inServiceTransaction,
  lockTurn,
  openDatabase,
  type ServiceRow,
} from './database.ts';
import {layFoundation, newToken} from './foundation.ts';
import {
  contacts,
  customerResource,
  employeeResource,
  jobCharges,
  jobResource,
  jobStatuses,
  jobTypes,
  notes,
  type ServiceResource,
  type Table,
  taskResource,
  taxEntityResource,
  timeEntries,
} from './resource.ts';

/** In place of the seed of a made-up business. */
const mark = 'rehearsal';

const resources: readonly ServiceResource[] = [
  ...[customerResource, jobResource, jobCharges, employeeResource, timeEntries, taskResource],
  ...[notes, contacts, jobTypes, jobStatuses, taxEntityResource],
];
const tables = resources.map(({table}) => table);

interface Filling {
  /** Records some at a time, each with its internal id. */
  readonly batches: AsyncIterable<readonly ServiceRow[]>;
  readonly timeZone: string;
  /** `2026-11-02` */
  readonly today: string;
}

/**
 * Fills the database of a service, in one transaction. The records of an earlier rehearsal, and its
 * journal, are removed.
 * @returns how many records each table has
 * @throws {UsageError} the database holds something else
 * @throws {FatalError} the database cannot be used
 */
export async function fillRehearsal(
  databaseUrl: string,
  {batches, timeZone, today}: Filling,
): Promise<ReadonlyMap<Table, number>> {
  await refuseWarehouse(databaseUrl);
  const database = await openDatabase(databaseUrl);
  try {
    const counts = new Map<Table, number>();
    await inServiceTransaction(database, async (client) => {
      await lockTurn(client);
      await empty(client);
      for await (const rows of batches) {
        await copyRows(client, rows);
        for (const {table} of rows) counts.set(table, (counts.get(table) ?? 0) + 1);
      }
      await ensureOwner(client);
      await passNumbers(client);
      await client.query(
        `INSERT INTO service.business (seed, customers, jobs, today, time_zone)
         VALUES ($1, $2, $3, $4, $5)`,
        [mark, counts.get('customers') ?? 0, counts.get('jobs') ?? 0, today, timeZone],
      );
    });
    for (const table of tables) await database.query(`VACUUM (ANALYZE) service.${table}`);
    return counts;
  } finally {
    await database.end();
  }
}

async function refuseWarehouse(databaseUrl: string): Promise<void> {
  const client = new pg.Client({connectionString: databaseUrl});
  try {
    await client.connect();
    const text = `SELECT to_regclass('sync.accounts') IS NOT NULL AS is_warehouse`;
    const {rows} = await client.query<{is_warehouse: boolean}>(text);
    if (rows[0]?.is_warehouse === true) throw taken('a warehouse');
  } finally {
    await client.end();
  }
}

async function empty(client: pg.ClientBase): Promise<void> {
  const text = `SELECT EXISTS (SELECT FROM service.business WHERE seed = $1) AS is_rehearsal,
      EXISTS (SELECT FROM service.customers) OR EXISTS (SELECT FROM service.business) AS is_used`;
  const {rows} = await client.query<{is_rehearsal: boolean; is_used: boolean}>(text, [mark]);
  if (rows[0]?.is_used === true && !rows[0].is_rehearsal) throw taken('another business');
  const all = [...tables, 'journal', 'business', 'births'].map((table) => `service.${table}`);
  await client.query(`TRUNCATE ${all.join(', ')}`);
}

function taken(what: string): UsageError {
  return new UsageError(
    'rehearse: --database: expected an empty database, or that of an earlier rehearsal, ' +
      `got ${what}; CREATE DATABASE rehearsal makes one`,
  );
}

/** A service answers to a token of its owner: without an active one, the first employee is it. */
async function ensureOwner(client: pg.ClientBase): Promise<void> {
  const {rowCount} = await client.query(
    `UPDATE service.employees SET fields = fields || '{"active":"true","is_account_owner":"true"}'
      WHERE id = (SELECT id FROM service.employees
                   ORDER BY (fields ->> 'is_account_owner' = 'true' AND active) IS TRUE DESC,
                            active DESC, id LIMIT 1)`,
  );
  if (rowCount === 0) await layFoundation(client, newToken());
}

/** Moves the sequences past the numbers that are taken. */
async function passNumbers(client: pg.ClientBase): Promise<void> {
  const ids = tables.map((table) => `SELECT max(id) AS id FROM service.${table}`);
  await client.query(`SELECT setval('service.ids', greatest(1000000, max(id)))
      FROM (${ids.join(' UNION ALL ')}) AS taken`);
  for (const {table, key} of resources.filter((one) => one.key !== 'id'))
    await client.query(
      `SELECT setval('service.${key}s', greatest(1, max(${key})), count(*) > 0)
         FROM service.${table}`,
    );
}

/** What was done to the records of one table, and how often. */
export interface Effect {
  readonly table: string;
  readonly kind: 'create' | 'update' | 'delete';
  /** How many times; a record may be updated several times. */
  readonly times: number;
  readonly records: number;
  /** How often each field was written; none of deletes. */
  readonly fields: Readonly<Record<string, number>>;
  /** The first ones. */
  readonly examples: readonly {
    readonly method: string;
    readonly path: string;
    readonly number: string;
    readonly values: Readonly<Record<string, unknown>>;
  }[];
}

/**
 * What the requests of a rehearsal have done, in the order in which each kind came first, with the
 * fields that a request may set: the service derives others from them.
 */
export async function readEffects(databaseUrl: string): Promise<readonly Effect[]> {
  const text = `WITH entry AS (
      SELECT journal.id, resource, kind, method, path, number, record_id, settable.changed,
          row_number() OVER (PARTITION BY resource, kind ORDER BY journal.id) AS place
        FROM service.journal CROSS JOIN LATERAL (
          SELECT coalesce(jsonb_object_agg(key, value), '{}') AS changed
            FROM jsonb_each(journal.changed)
           WHERE $1::jsonb -> resource ? key AND (kind <> 'create' OR value <> '""')
        ) AS settable)
    SELECT resource AS "table", kind, count(*)::integer AS times,
        count(DISTINCT record_id)::integer AS records,
        (SELECT coalesce(jsonb_object_agg(key, uses), '{}')
           FROM (SELECT key, count(*) AS uses
                   FROM entry AS own CROSS JOIN jsonb_object_keys(own.changed) AS key
                  WHERE own.resource = entry.resource AND own.kind = entry.kind
                  GROUP BY key) AS used) AS fields,
        jsonb_agg(jsonb_build_object('method', method, 'path', path, 'number', number::text,
                                     'values', changed) ORDER BY place)
          FILTER (WHERE place <= 3) AS examples
      FROM entry GROUP BY resource, kind ORDER BY min(id)`;
  const settable = Object.fromEntries(
    resources.map(({table, writable}) => [table, [...writable, 'employee_ids']]),
  );
  const database = await openDatabase(databaseUrl);
  try {
    return (await database.query<Effect>(text, [JSON.stringify(settable)])).rows;
  } finally {
    await database.end();
  }
}
