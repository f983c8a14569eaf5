// An account gets another name, and goes, beside another one that stays as it is.

import {expect, test} from 'vitest';
import {main, runCommand, startProgram} from '../support/command.ts';
import {add, client, env, run, useAccountsPlace} from './accounts-place.ts';

useAccountsPlace();

async function typeInto(args: readonly string[], line: string) {
  const command = `printf '%s\\n' "$LINE" | exec "$NODE" "$MAIN" ${args.join(' ')}`;
  return await startProgram(['sh', '-c', command], {
    ...env,
    LINE: line,
    NODE: process.execPath,
    MAIN: main,
  }).ended;
}

/** How many rows each table holds of an account, but for tables that hold none. */
async function countRows(accountId: number): Promise<Record<string, number>> {
  const {rows: tables} = await client.query<{table: string}>(
    `SELECT table_schema || '.' || table_name AS table FROM information_schema.columns
     JOIN information_schema.tables USING (table_schema, table_name)
      WHERE column_name = 'account_id' AND table_type = 'BASE TABLE'
      AND table_schema IN ('warehouse', 'history', 'mart', 'sync')`,
  );
  const counts: Record<string, number> = {};
  for (const {table} of tables) {
    const {rows} = await client.query(
      `SELECT count(*)::int AS rows FROM ${table} WHERE account_id = $1`,
      [accountId],
    );
    if (rows[0].rows > 0) counts[table] = rows[0].rows;
  }
  return counts;
}

async function openTwo(): Promise<void> {
  for (const name of ['north', 'south']) {
    expect(await add(name)).toMatchObject({code: 0});
    expect(await runCommand(['sync', '--account', name], env)).toMatchObject({code: 0});
  }
  await client.query(`UPDATE warehouse.customers SET fax = '555-0100' WHERE account_id = 1`);
  await client.query(`UPDATE warehouse.customers SET fax = '555-0100' WHERE account_id = 2`);
}

test('an account can be renamed and still syncs; a taken or invalid name is rejected', async () => {
  await openTwo();
  expect(await run('rename', 'north', 'south')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /expected a name that no account has, got "south", which mirrors/,
    ),
  });
  expect(await run('rename', 'north', 'two words')).toMatchObject({code: 2});
  expect(await run('rename', 'east', 'west')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no account "east"/),
  });
  expect(await run('rename', 'north', 'upper')).toMatchObject({code: 0});
  const {rows} = await client.query('SELECT name FROM sync.accounts ORDER BY 1');
  expect(rows).toEqual([{name: 'south'}, {name: 'upper'}]);
  expect(await runCommand(['sync', 'jobs', '--account', 'upper'], env)).toMatchObject({code: 0});
});

test('accounts remove deletes all rows of a paused account and no row of another account', {
  timeout: 120_000,
}, async () => {
  await openTwo();
  const others = await countRows(2);
  expect(Object.keys(others)).toEqual(
    expect.arrayContaining([
      'warehouse.customers',
      'history.past_customers',
      'sync.changes',
      'sync.sweeps',
    ]),
  );
  expect(await typeInto(['accounts', 'remove', 'north'], 'north')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /expected it to rest, but it is active; fieldmirror accounts pause north/,
    ),
  });
  expect(await run('pause', 'north')).toMatchObject({code: 0});
  const held = await countRows(1);
  const slip = await typeInto(['accounts', 'remove', 'north'], 'south');
  expect(slip).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/warehouse\.customers +│ +6/),
  });
  expect(await countRows(1)).toEqual(held);

  expect(await typeInto(['accounts', 'remove', 'north'], 'north')).toMatchObject({
    code: 0,
    stdout: 'account north is removed\n',
  });
  expect(await countRows(1)).toEqual({});
  expect(await countRows(2)).toEqual(others);
  const edits = await client.query(
    `SELECT count(*)::int AS left FROM history.edits
      WHERE row_id NOT IN (SELECT row_id FROM warehouse.customers)`,
  );
  expect(edits.rows).toEqual([{left: 0}]);
  // The same business may be mirrored anew.
  expect(await add('north')).toMatchObject({code: 0});
  expect(await runCommand(['sync', 'customers', '--account', 'north'], env)).toMatchObject({
    code: 0,
  });
});
