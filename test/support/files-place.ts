// A mirrored business, and a folder for the files that are made from it.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {expect, inject} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand} from './command.ts';
import {openPlace, type Place} from './place.ts';

export interface FilesPlace extends Pick<Place, 'env' | 'close'> {
  readonly pool: pg.Pool;
  readonly folder: string;
}

export async function openFilesPlace(
  options: Parameters<typeof openPlace>[0] = {},
): Promise<FilesPlace> {
  const place = await openPlace(options, inject('warehouseTemplate'));
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-files-'));
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
  const pool = openPool(place.databaseUrl, {max: 2, applicationName: 'test'});
  const close = async () => {
    await pool.end();
    await place.close();
    await rm(folder, {recursive: true, force: true});
  };
  return {env: place.env, pool, folder, close};
}
