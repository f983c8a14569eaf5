import {open, rename} from 'node:fs/promises';
import type {Writable} from 'node:stream';
import {finished} from 'node:stream/promises';
import type pg from 'pg';
import {UsageError} from '../../base/errors.ts';
import {writeCsv} from '../../views/answers/csv.ts';

export interface FileOptions {
  readonly file: string;
  readonly format: 'csv' | 'parquet';
  /** Of CSV: for a spreadsheet. */
  readonly excel?: boolean | undefined;
}

/**
 * Writes the rows of a statement into a file, under another name until it is whole. The caller has begun a transaction.
 * @returns how many rows
 * @throws {UsageError} a file that cannot be written, an amount that the format cannot hold
 */
export async function writeFile(
  client: pg.ClientBase,
  sql: string,
  {file, format, excel}: FileOptions,
): Promise<number> {
  const part = `${file}.part`;
  const handle = await open(part, 'w').catch((error: Error) => {
    throw new UsageError(`${file}: expected a file that can be written, got ${error.message}`, {
      cause: error,
    });
  });
  const out = handle.createWriteStream();
  const rows = await (format === 'csv'
    ? writeCsv(client, sql, {out, isForSpreadsheet: excel === true})
    : writeGroups(client, sql, out));
  out.end();
  await finished(out);
  await rename(part, file);
  return rows;
}

async function writeGroups(client: pg.ClientBase, sql: string, out: Writable): Promise<number> {
  const {writeParquet} = await import('./parquet/parquet.ts');
  return await writeParquet(
    client,
    sql,
    (bytes) =>
      new Promise((resolve, reject) => {
        out.write(bytes, (error) => (error == null ? resolve() : reject(error)));
      }),
  );
}
