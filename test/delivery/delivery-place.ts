// A mirrored business, and what a reader of its snapshots sees.

import {createHash} from 'node:crypto';
import {readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {DuckDBInstance} from '@duckdb/node-api';
import {expect} from 'vitest';
import {runCommand} from '../support/command.ts';
import {type FilesPlace, openFilesPlace} from '../support/files-place.ts';

export interface DeliveryPlace extends FilesPlace {
  /** The folder that is the target `lake`. */
  readonly lake: string;
  query<R extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]>;
  /** Applies a file of settings. */
  apply(settings: object): ReturnType<typeof runCommand>;
  deliver(...args: string[]): ReturnType<typeof runCommand>;
}

export async function openDeliveryPlace(): Promise<DeliveryPlace> {
  const place = await openFilesPlace();
  const {folder, pool, env} = place;
  const apply = async (settings: object) => {
    const file = join(folder, 'settings.yaml');
    await writeFile(file, JSON.stringify(settings));
    return await runCommand(['config', 'apply', file], env);
  };
  return {
    ...place,
    lake: join(folder, 'lake'),
    query: async <R extends object>(text: string, values: unknown[] = []) =>
      (await pool.query<R>(text, values)).rows,
    apply,
    deliver: (...args) => runCommand(['deliver', ...args], env),
  };
}

export interface ReadManifest {
  readonly snapshot: string;
  readonly knownAsOf: string;
  readonly sweeps: readonly Readonly<Record<string, unknown>>[];
  readonly tieOuts: readonly {readonly name: string; readonly brokenRows: number}[];
  readonly tables: readonly {
    readonly table: string;
    readonly file: string;
    readonly rows: number;
    readonly bytes: number;
    readonly sha256: string;
    readonly sums: Readonly<Record<string, string>>;
    readonly columns: readonly {name: string; type: string; comment: string | null}[];
  }[];
}

/** What `latest.json` leads to, checked to the last byte; null if there is no snapshot. */
export async function readSnapshot(lake: string): Promise<ReadManifest | null> {
  const text = await readFile(join(lake, 'latest.json'), 'utf8').catch(() => null);
  if (text === null) return null;
  const latest = JSON.parse(text) as {snapshot: string; manifest: string; manifestSha256: string};
  expect(digest(await readFile(join(lake, latest.manifest)))).toBe(latest.manifestSha256);
  return await readManifest(lake, latest.snapshot);
}

/** A snapshot by its name, checked to the last byte. */
export async function readManifest(lake: string, name: string): Promise<ReadManifest> {
  const folder = join(lake, name);
  const held = await readFile(join(folder, 'manifest.json'), 'utf8');
  const manifest = JSON.parse(held) as ReadManifest;
  expect(manifest.snapshot).toBe(name);
  expect((await readdir(folder)).sort()).toEqual(
    ['manifest.json', ...manifest.tables.map(({file}) => file)].sort(),
  );
  for (const {file, bytes, sha256} of manifest.tables) {
    const read = await readFile(join(folder, file));
    expect([file, read.length, digest(read)]).toEqual([file, bytes, sha256]);
  }
  return manifest;
}

/** The names in a folder, but for what no reader looks at. */
export async function listShown(lake: string): Promise<string[]> {
  return (await readdir(lake).catch(() => [])).filter((name) => !name.startsWith('.')).sort();
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Runs statements in a DuckDB of its own. @returns the rows of the last one */
export async function queryDuck(...statements: string[]) {
  const duck = await (await DuckDBInstance.create(':memory:')).connect();
  for (const statement of statements.slice(0, -1)) await duck.run(statement);
  return (await duck.runAndReadAll(statements.at(-1) ?? '')).getRowObjects();
}
