// An author may name every column of every table that is captured, as an ORM does. A value that is
// not the author's to give is refused by the name of its column; the values that are there, and
// NULL in a column of ours, are no change. Tables and columns come from the catalogue.

import {randomBytes} from 'node:crypto';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {allTables} from '../../src/streams/all.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {type CaptureWorld, neededBy, openCaptureWorld, timeZone} from './capture-world.ts';

const login = `author_${randomBytes(4).toString('hex')}`;
let world: CaptureWorld;
let stranger: string;
beforeAll(async () => {
  world = await openCaptureWorld();
  stranger = (
    await upsertAccount(world.pool, {name: 'bakery', apiUrl: 'https://example.com/b', timeZone})
  ).accountId;
  await makeRole(login, 'IN ROLE fieldmirror_author');
  await world.author(`SELECT sync.grant_account('${login}', 'acme')`);
});
afterAll(async () => {
  await dropRoles(login);
  await world?.close();
});
beforeEach(async () => {
  await world.empty();
  await world.sent('customers', {customer_number: '3', name: 'old'});
  await world.sent('jobs', {job_number: '4', customer_number: '3', name: 'old'});
});

const asAuthor = (text: string, values?: unknown[]) => world.as(login, text, values);

/** Two values of each type, as SQL. */
const samples: Readonly<Record<string, readonly [string, string]>> = {
  text: [`'a'`, `'b'`],
  bigint: ['77', '78'],
  integer: ['77', '78'],
  numeric: ['1.50', '2.50'],
  'double precision': ['1.5', '2.5'],
  boolean: ['false', 'true'],
  'timestamp with time zone': [`'2026-01-31 10:00Z'`, `'2026-02-28 10:00Z'`],
  jsonb: [`'{"a": 1}'`, `'{"b": 2}'`],
  bytea: [`'\\x01'`, `'\\x02'`],
};
interface Held {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

async function columnsOf(table: string): Promise<Held[]> {
  const rows = await world.author(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [`warehouse.${table}`],
  );
  return rows.map(({name, type}) => {
    const [before, after] = samples[String(type)] ?? [];
    if (before === undefined || after === undefined) throw new Error(`no sample of ${type}`);
    return {name: String(name), before, after};
  });
}

/** A row that the service sent, with a value in each column that the test may choose. */
async function sendRow(table: string, columns: readonly Held[]): Promise<string> {
  const fixed = [
    'row_id',
    'account_id',
    'parent_row_id',
    '_pending',
    '_deleted_at',
    '_change_id',
    '_hash',
  ];
  const own = allTables.find(({name}) => name === table);
  const names = columns.filter(({name}) => !fixed.includes(name));
  const cells = names.map(({name, before}) =>
    name === 'job_number' && table !== 'jobs'
      ? '4'
      : name === 'customer_number' && table !== 'customers'
        ? '3'
        : before,
  );
  const [row] = await world.sweep(
    `INSERT INTO warehouse.${own?.name}
      (account_id, ${names.map(({name}) => `"${name}"`).join(', ')})
     VALUES (${world.accountId}, ${cells.join(', ')}) RETURNING row_id`,
  );
  return String(row?.row_id);
}

const isOurs = (name: string) =>
  name.startsWith('_') || ['row_id', 'account_id', 'extra'].includes(name);

describe.each(allTables.map((table) => ({table, name: table.name})))('$name', ({table, name}) => {
  const {operations, parent} = table.capture;
  const mayChange = (column: string) =>
    column === 'external_key' ||
    table.writable.some((rule) => rule.name === column && rule.onUpdate);

  test('saving the same values, or NULL in Fieldmirror’s columns, makes no change', async () => {
    const columns = await columnsOf(name);
    const id = await sendRow(name, columns);
    const before = await world.row(name, id);
    const all = columns
      .filter((column) => column.name !== 'row_id')
      .map((column) => `"${column.name}"`);
    await asAuthor(
      `UPDATE warehouse.${name} SET ${all.map((one) => `${one} = ${one}`).join(', ')}`,
    );
    const ours = all.filter((one) => isOurs(one.replaceAll('"', '')));
    await asAuthor(`UPDATE warehouse.${name} SET ${ours.map((one) => `${one} = NULL`).join(', ')}`);
    expect(await world.row(name, id)).toEqual(before);
    expect(await world.changes('state')).toEqual([]);
  });

  test('an UPDATE of a column that is not the author’s fails and names the column', async () => {
    const columns = await columnsOf(name);
    const id = await sendRow(name, columns);
    const before = await world.row(name, id);
    for (const column of columns.filter((one) => !mayChange(one.name))) {
      const value =
        column.name === 'row_id'
          ? 'DEFAULT'
          : column.name === 'account_id'
            ? stranger
            : column.after;
      await expect(
        asAuthor(`UPDATE warehouse.${name} SET "${column.name}" = ${value} WHERE row_id = ${id}`),
        column.name,
      ).rejects.toThrow(`warehouse.${name}.${column.name}: `);
    }
    expect(await world.row(name, id)).toEqual(before);
    expect(await world.changes('state')).toEqual([]);
  });

  test('an INSERT with a column that is not the author’s fails with the reason', async () => {
    const columns = await columnsOf(name);
    const needed: Record<string, string> = Object.fromEntries(
      Object.entries(neededBy(table)).map(([key, value]) => [key, `'${value}'`]),
    );
    if (parent?.numberColumn !== undefined)
      needed[parent.numberColumn] = parent.table === 'jobs' ? '4' : '3';
    if (name === 'job_employees') Object.assign(needed, {job_number: '4', employee_id: '7'});
    const given = columns.filter(
      (column) =>
        !(column.name in needed) &&
        !['external_key', 'parent_row_id'].includes(column.name) &&
        !table.writable.some((rule) => rule.name === column.name && rule.onCreate),
    );
    const count = await world.author(`SELECT count(*) FROM warehouse.${name}`);
    for (const column of given) {
      const cells = {
        ...needed,
        [column.name]:
          column.name === 'account_id'
            ? stranger
            : column.name === '_pending'
              ? 'false'
              : column.after,
      };
      const overriding = column.name === 'row_id' ? 'OVERRIDING SYSTEM VALUE' : '';
      const why =
        column.name === 'row_id'
          ? 'permission denied'
          : operations.includes('create')
            ? new RegExp(
                `warehouse\\.${name}\\.${column.name}: |` +
                  'violates row-level security|live .* of this account',
              )
            : /the service cannot create one|violates row-level security/;
      await expect(
        asAuthor(
          `INSERT INTO warehouse.${name} (${Object.keys(cells)
            .map((one) => `"${one}"`)
            .join(', ')}) ${overriding} VALUES (${Object.values(cells).join(', ')})`,
        ),
        column.name,
      ).rejects.toThrow(why);
    }
    expect(await world.author(`SELECT count(*) FROM warehouse.${name}`)).toEqual(count);
    expect(await world.changes('state')).toEqual([]);
  });

  test('an INSERT with NULL in optional columns is captured, or fails if unsupported', async () => {
    const cells: Record<string, string> = Object.fromEntries(
      (await columnsOf(name))
        .filter(
          ({name: one}) =>
            !['row_id', 'account_id', 'extra', '_first_seen_at', '_changed_at'].includes(one),
        )
        .map(({name: one}) => [one, 'NULL']),
    );
    for (const [key, value] of Object.entries(neededBy(table))) cells[key] = `'${value}'`;
    if (parent?.numberColumn !== undefined)
      cells[parent.numberColumn] = parent.table === 'jobs' ? '4' : '3';
    if (name === 'job_employees') Object.assign(cells, {job_number: '4', employee_id: '7'});
    const insert = `INSERT INTO warehouse.${name} (${Object.keys(cells)
      .map((one) => `"${one}"`)
      .join(', ')}) VALUES (${Object.values(cells).join(', ')}) RETURNING row_id`;
    if (!operations.includes('create')) {
      await expect(asAuthor(insert)).rejects.toThrow(
        `warehouse.${name}: the service cannot create one`,
      );
      return;
    }
    const [made] = await asAuthor(insert);
    expect(await world.row(name, made?.row_id, '_pending')).toEqual({_pending: true});
    expect(await world.changes('state')).toEqual([{state: 'pending'}]);
  });

  test('a DELETE makes a change, or fails if the service cannot delete a record', async () => {
    const id = await sendRow(name, await columnsOf(name));
    const remove = asAuthor(`DELETE FROM warehouse.${name} WHERE row_id = ${id}`);
    if (operations.includes('delete')) {
      await remove;
      expect(await world.changes('state')).toEqual([{state: 'pending'}]);
    } else await expect(remove).rejects.toThrow(`warehouse.${name}: the service cannot delete one`);
  });

  test('the first upsert by external_key inserts a row, the second updates it', async () => {
    if (!operations.includes('create') || name === 'job_employees') return;
    const fields = table.writable.filter(
      (rule) => rule.onCreate && rule.onUpdate && rule.kind === 'text',
    );
    const field = fields[0]?.name;
    if (field === undefined) return;
    const cells: Record<string, string> = {
      account_id: world.accountId,
      external_key: `'K-1'`,
      ...Object.fromEntries(
        Object.entries(neededBy(table)).map(([key, value]) => [key, `'${value}'`]),
      ),
    };
    if (parent?.numberColumn !== undefined)
      cells[parent.numberColumn] = parent.table === 'jobs' ? '4' : '3';
    for (const text of ['one', 'two']) {
      cells[field] = `'${text}'`;
      await asAuthor(
        `INSERT INTO warehouse.${name} (${Object.keys(cells).join(', ')})
          VALUES (${Object.values(cells).join(', ')})
         ON CONFLICT (account_id, external_key) DO UPDATE SET ${field} = excluded.${field}`,
      );
    }
    expect(
      await world.author(
        `SELECT ${field} AS text, _pending FROM warehouse.${name} WHERE external_key = 'K-1'`,
      ),
    ).toEqual([{text: 'two', _pending: true}]);
    expect(await world.changes('operation')).toEqual([{operation: 'create'}]);
  });
});
