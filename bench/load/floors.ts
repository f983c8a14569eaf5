// Floors that no loader can beat: reading the bytes as XML at all, and Postgres taking the same
// rows by COPY.

import {once} from 'node:events';
import {createReadStream, createWriteStream} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {pipeline} from 'node:stream/promises';
import type pg from 'pg';
import {from as copyFrom, to as copyTo} from 'pg-copy-streams';
import {SaxesParser} from 'saxes';
import type {MirrorTable} from '../../src/streams/table.ts';

/**
 * Seconds to run the pages through the XML parser, listening only as far as it takes to see every
 * event.
 */
export async function tokenise(files: readonly string[]): Promise<number> {
  let seconds = 0;
  let events = 0;
  for (const file of files) {
    const bytes = await readFile(file);
    const startedAt = performance.now();
    const parser = new SaxesParser({xmlns: false});
    parser.on('opentag', () => void events++);
    parser.on('text', () => void events++);
    parser.on('closetag', () => void events++);
    parser.write(bytes.toString('utf8')).close();
    seconds += (performance.now() - startedAt) / 1000;
  }
  return events > 0 ? seconds : Number.NaN;
}

/** Writes every row of the tables to files, as COPY has them. */
export async function copyOut(
  client: pg.ClientBase,
  tables: readonly MirrorTable[],
  folder: string,
): Promise<void> {
  for (const table of tables) {
    const out = client.query(
      copyTo(`COPY (SELECT ${columnsOf(table)} FROM warehouse."${table.name}") TO STDOUT`),
    );
    await pipeline(out, createWriteStream(join(folder, table.name)));
  }
}

/**
 * Seconds to take the same rows into empty tables with the same indexes, a table at a time. No
 * trigger runs: the rows are no edits, and no loader could be faster than one without triggers.
 * @param client - a login that may switch triggers off
 */
export async function copyIn(
  client: pg.ClientBase,
  tables: readonly MirrorTable[],
  folder: string,
): Promise<number> {
  await client.query('SET session_replication_role = replica');
  const startedAt = performance.now();
  for (const table of tables) {
    const into = client.query(
      copyFrom(`COPY warehouse."${table.name}" (${columnsOf(table)}) FROM STDIN`),
    );
    const finished = once(into, 'finish');
    await pipeline(createReadStream(join(folder, table.name)), into);
    await finished.catch(() => {});
  }
  return (performance.now() - startedAt) / 1000;
}

function columnsOf(table: MirrorTable): string {
  return [
    'account_id',
    '_sweep_id',
    ...table.columns.map((column) => `"${column.name}"`),
    'extra',
    '_hash',
  ].join(', ');
}
