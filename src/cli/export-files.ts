import {mkdir, mkdtemp, open, rename, rm, rmdir, writeFile as writeWhole} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {Writable} from 'node:stream';
import {finished} from 'node:stream/promises';
import type pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {writeCsv} from '../star/answer-csv.ts';

export interface FileOptions {
  readonly file: string;
  readonly format: 'csv' | 'parquet';
  /** Of CSV: for a spreadsheet. */
  readonly excel?: boolean | undefined;
}

/**
 * Writes the rows of a statement into a file, under another name until it is whole. The caller has
 * begun a transaction.
 * @returns how many rows
 * @throws {UsageError} a file that cannot be written, an amount that the format cannot hold
 */
export async function writeFile(
  client: pg.ClientBase,
  sql: string,
  {file, format, excel}: FileOptions,
): Promise<number> {
  return await writeAside(file, async (part) => {
    const handle = await open(part, 'w').catch((error: Error) => {
      throw new UsageError(`${file}: expected a file that can be written, got ${error.message}`, {
        cause: error,
      });
    });
    const out = handle.createWriteStream();
    try {
      return await (format === 'csv'
        ? writeCsv(client, sql, {out, isForSpreadsheet: excel === true})
        : writeGroups(client, sql, out));
    } finally {
      out.end();
      await finished(out);
    }
  });
}

/** Writes a text into a file, all of it or nothing; its folder is made where there is none. */
export async function writeText(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), {recursive: true});
  await writeAside(file, (part) => writeWhole(part, text));
}

/** A file that could not be written leaves nothing, and the one before it as it was. */
async function writeAside<T>(file: string, write: (part: string) => Promise<T>): Promise<T> {
  const part = `${file}.part`;
  try {
    const result = await write(part);
    await rename(part, file);
    return result;
  } catch (error) {
    await rm(part, {force: true}).catch(() => undefined);
    throw error;
  }
}

/**
 * Writes files into a folder, all of them or none: they are written aside, and moved when the last
 * one is whole.
 * @param write - writes the files into the folder that it is given
 * @param names - of the files that it writes
 * @throws {UsageError} a folder that cannot be written
 */
export async function writeAll(
  folder: string,
  names: readonly string[],
  write: (aside: string) => Promise<void>,
): Promise<void> {
  const refuse = (error: Error) => {
    throw new UsageError(`${folder}: expected a folder that can be written, got ${error.message}`, {
      cause: error,
    });
  };
  const created = await mkdir(folder, {recursive: true}).catch(refuse);
  const aside = await mkdtemp(join(folder, '.part-')).catch(refuse);
  try {
    await write(aside);
    for (const name of names) await rename(join(aside, name), join(folder, name));
  } finally {
    await rm(aside, {recursive: true, force: true});
    if (created !== undefined) await removeEmpty(folder, created);
  }
}

/** Removes the folders that were made, from the innermost one up, as far as they are empty. */
async function removeEmpty(innermost: string, outermost: string): Promise<void> {
  try {
    for (let folder = innermost; ; folder = dirname(folder)) {
      await rmdir(folder);
      if (folder === outermost) return;
    }
  } catch {
    // It holds files.
  }
}

/**
 * Refuses the address of a store, which would else become a folder of that name.
 * @throws {UsageError} it is no path
 */
export function checkPath(place: string, path: string): void {
  if (!/^[a-z][a-z\d+.-]+:\/\//i.test(path)) return;
  throw new UsageError(
    `${place}: expected a path on this machine, got ${path}; write the files to a folder, and copy them from there`,
  );
}

async function writeGroups(client: pg.ClientBase, sql: string, out: Writable): Promise<number> {
  const {writeParquet} = await import('./parquet.ts');
  return await writeParquet(
    client,
    sql,
    (bytes) =>
      new Promise((resolve, reject) => {
        out.write(bytes, (error) => (error == null ? resolve() : reject(error)));
      }),
  );
}
