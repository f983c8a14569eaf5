// An error about the embedded Postgres names the port on which it runs.

import {mkdtemp, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {withWarehouse} from '../../src/cli/warehouse.ts';
import {loadConfig} from '../../src/core/config.ts';
import {NoRoomError} from '../../src/core/errors.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';

test('a full disk of the embedded Postgres is reported with its port', async () => {
  const home = await mkdtemp(join(temporaryFolder(), 'fieldmirror-port-'));
  const config = loadConfig({FIELDMIRROR_HOME: home});
  let port = '';
  const failed = withWarehouse(config, {migrates: false, makes: true}, async (warehouse) => {
    port = new URL(warehouse.databaseUrl).port;
    await warehouse.pool.query(`DO $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$`);
  });
  const error = await failed.catch((reason: unknown) => reason);
  await rm(home, {recursive: true});
  expect(error).toBeInstanceOf(NoRoomError);
  expect(port).not.toBe('5432');
  expect(String(error)).toContain(`Postgres at 127.0.0.1:${port}, database warehouse: its disk is`);
});
