// A real disk that is nearly full: a tmpfs with a tablespace on it, of a Postgres of its own. In
// the Postgres that all tests share no checkpoint would succeed while the disk is full. Mounting
// takes rights that not every machine gives.

import {execFileSync} from 'node:child_process';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import type {EmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {forgoDurability} from './forgo-durability.ts';
import {migrateWarehouse, startPostgres} from './own-postgres.ts';
import type {TestDatabase} from './postgres.ts';
import {SetUp} from './set-up.ts';
import {withClient} from './with-client.ts';

export interface SmallDisk {
  /** A migrated, empty warehouse on it. */
  readonly database: TestDatabase;
  /** Leaves room for so many bytes. */
  fill(leftBytes: number): void;
  empty(): void;
}

const sizeMb = 96;

/** @returns null where nothing can be mounted */
export async function openSmallDisk(): Promise<SmallDisk | null> {
  const folder = mkdtempSync(join(tmpdir(), 'fieldmirror-disk-'));
  const disk = mountDisk(folder, sizeMb);
  if (disk === null) {
    rmSync(folder, {recursive: true});
    return null;
  }
  const setUp = new SetUp();
  await setUp.step(
    'making a small disk',
    async () => {},
    async () => {
      disk.unmount();
      rmSync(folder, {recursive: true});
    },
  );
  const {postgres} = await startPostgres(setUp, 'home');
  const url = await setUp.step('making a warehouse on the small disk', () =>
    makeWarehouse(postgres, folder),
  );
  const {fill, empty} = disk;
  return {fill, empty, database: {url, drop: () => setUp.end()}};
}

async function makeWarehouse(postgres: EmbeddedPostgres, folder: string): Promise<string> {
  const adminUrl = await postgres.url('postgres');
  await forgoDurability(adminUrl);
  await makeTablespace(adminUrl, join(folder, 'tablespace'));
  await run(adminUrl, 'CREATE DATABASE warehouse TABLESPACE small');
  const url = await postgres.url('warehouse');
  await migrateWarehouse(url);
  return url;
}

async function makeTablespace(adminUrl: string, place: string): Promise<void> {
  const [data] = await run<{folder: string}>(
    adminUrl,
    `SELECT current_setting('data_directory') AS folder`,
  );
  const {uid, gid} = statSync(data?.folder ?? '/');
  mkdirSync(place);
  chownSync(place, uid, gid);
  chownSync(join(place, '..'), uid, gid);
  await run(adminUrl, `CREATE TABLESPACE small LOCATION '${place}'`);
}

/** A disk that is mounted on a folder. */
export interface MountedDisk extends Pick<SmallDisk, 'fill' | 'empty'> {
  unmount(): void;
}

/** @returns null where nothing can be mounted */
export function mountDisk(folder: string, megabytes: number): MountedDisk | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
  } catch {
    return null;
  }
  const ballast = join(folder, 'ballast');
  return {
    fill: (leftBytes) => {
      const {bavail, bsize} = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leftBytes)));
    },
    empty: () => rmSync(ballast),
    unmount: () => execFileSync('umount', [folder]),
  };
}

async function run<T extends pg.QueryResultRow>(url: string, statement: string): Promise<T[]> {
  return await withClient(url, async (client) => (await client.query<T>(statement)).rows);
}
