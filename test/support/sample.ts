import {createHash} from 'node:crypto';
import pg from 'pg';
import {type Account, upsertAccount} from '../../src/accounts/accounts.ts';
import {openPool} from '../../src/postgres/database.ts';
import {definitions, migrateSchema} from '../../src/schema/migrate.ts';
import {type EncodedRow, type MirrorTable, mirrorTable} from '../../src/streams/table.ts';
import {encodeRow} from '../../src/sweeps/packed-rows.ts';
import {createDatabase} from './postgres.ts';

/** A table with a column of every type. */
export const machines = mirrorTable('machines', {
  comment: 'Machines, for tests.',
  key: ['machine_number'],
  columns: [
    {name: 'machine_number', type: 'integer', comment: 'Number of the machine.'},
    {name: 'name', type: 'text', comment: "The owner's name for it."},
    {name: 'serial', type: 'text', comment: 'Serial number.'},
    {name: 'price', type: 'decimal', comment: 'Price.'},
    {name: 'weight', type: 'float', comment: 'Weight.'},
    {name: 'in_use', type: 'boolean', comment: 'In use.'},
    {name: 'bought_at', type: 'instant', comment: 'Bought.'},
    {name: 'options', type: 'nested', comment: 'Options.'},
  ],
});

/** Children of machines, with a key of two columns. */
export const parts = mirrorTable('machine_parts', {
  comment: 'Parts, for tests.',
  key: ['machine_number', 'code'],
  indexes: [['code']],
  columns: [
    {name: 'machine_number', type: 'integer', comment: 'The machine.'},
    {name: 'code', type: 'integer', comment: 'Code of the part.'},
    {name: 'size', type: 'decimal', comment: 'Size.'},
  ],
});

/** A migrated database with one account, and the two tables above. */
export interface World {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly account: Account;
  close(): Promise<void>;
}

/** @param options.keepsHistory - whether the two tables have it, as all real ones do */
export async function openWorld(options: {readonly keepsHistory?: boolean} = {}): Promise<World> {
  const database = await createDatabase();
  const pool = openPool(database.url, {max: 8, applicationName: 'test'});
  await migrateSchema(pool, definitions);
  for (const table of [machines, parts]) {
    await createTable(pool, table);
    if (options.keepsHistory === true) await pool.query('SELECT history.keep($1)', [table.name]);
  }
  const account = await upsertAccount(pool, {
    name: 'acme',
    apiUrl: 'https://example.com/acme',
    timeZone: 'UTC',
  });
  const close = async () => {
    await pool.end();
    await database.drop();
  };
  return {url: database.url, pool, account, close};
}

/** Makes a table for tests; real ones come by migration. */
async function createTable(pool: pg.Pool, table: MirrorTable): Promise<void> {
  const types = {
    text: 'text',
    integer: 'bigint',
    decimal: 'numeric',
    float: 'double precision',
    boolean: 'boolean',
    instant: 'timestamptz',
    nested: 'jsonb',
  };
  const columns = table.columns.map(
    ({name, type}) => `${pg.escapeIdentifier(name)} ${types[type]}`,
  );
  await pool.query(`
    CREATE TABLE warehouse.${table.name} (
      row_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id bigint NOT NULL,
        external_key text,
      ${columns.join(', ')}, extra jsonb NOT NULL DEFAULT '{}', _hash bytea,
      _first_seen_at timestamptz NOT NULL DEFAULT now(),
        _changed_at timestamptz NOT NULL DEFAULT now(),
      _deleted_at timestamptz, _sweep_id bigint, _page integer, parent_row_id bigint,
        _change_id bigint, _pending boolean,
      CONSTRAINT ${table.name}_key UNIQUE (account_id, ${table.key.join(', ')}))`);
}

export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, 16);
}

/** A row of a table; fields not given are null. */
export function rowOf(
  table: MirrorTable,
  fields: Readonly<Record<string, string | null>>,
  attributes = '{}',
  page: number | null = null,
): EncodedRow {
  const values = table.columns.map(({name}) => fields[name] ?? null);
  const key = table.key.map((name) => fields[name]).join(',');
  const hash = hashOf(JSON.stringify([values, attributes])).toString('hex');
  return encodeRow(table, {key, values, attributes, hash}, page);
}
