// A real disk that is nearly full: a tmpfs with a tablespace on it. Mounting takes rights that not every machine gives.

import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, statfsSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {inject} from 'vitest';
import type {TestDatabase} from './postgres.ts';

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
  const adminUrl = inject('postgresUrl');
  const [data] = await run<{folder: string}>(adminUrl, `SELECT current_setting('data_directory') AS folder`);
  const owner = statSync(data?.folder ?? '/').uid;
  if (!mount(folder, owner)) {
    rmSync(folder, {recursive: true});
    return null;
  }
  const place = join(folder, 'tablespace');
  mkdirSync(place);
  execFileSync('chown', [String(owner), place]);
  const name = `small_${process.pid}_${Date.now()}`;
  await run(adminUrl, `CREATE TABLESPACE ${name} LOCATION '${place}'`);
  await run(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${inject('warehouseTemplate')} TABLESPACE ${name}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const ballast = join(folder, 'ballast');
  const drop = async () => {
    await run(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    await run(adminUrl, `DROP TABLESPACE ${name}`);
    execFileSync('umount', [folder]);
    rmSync(folder, {recursive: true});
  };
  return {
    database: {url: url.href, drop},
    fill: (leftBytes) => {
      const {bavail, bsize} = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leftBytes)));
    },
    empty: () => rmSync(ballast),
  };
}

function mount(folder: string, owner: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,uid=${owner}`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

async function run<T extends pg.QueryResultRow>(url: string, statement: string): Promise<T[]> {
  const client = new pg.Client({connectionString: url});
  await client.connect();
  try {
    return (await client.query<T>(statement)).rows;
  } finally {
    await client.end();
  }
}
