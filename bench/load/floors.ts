// A floor that no loader can beat: Postgres taking the same rows by COPY.

import {once} from 'node:events';
import {createReadStream, createWriteStream} from 'node:fs';
import {join} from 'node:path';
import {pipeline} from 'node:stream/promises';
import type pg from 'pg';
import {from as copyFrom, to as copyTo} from 'pg-copy-streams';
import {allTables} from '../../src/streams/all.ts';
import type {MirrorTable} from '../../src/streams/table.ts';

/** Writes every row of the tables to files, as COPY has them. */
export async function copyOut(client: pg.ClientBase, folder: string): Promise<void> {
  for (const table of allTables) {
    const out = client.query(
      copyTo(`COPY (SELECT ${columnsOf(table)} FROM warehouse."${table.name}") TO STDOUT`),
    );
    await pipeline(out, createWriteStream(join(folder, table.name)));
  }
}

/**
 * Takes the same rows into empty tables with the same indexes, a table at a time. No trigger runs:
 * the rows are no edits, and no loader could be faster than one without triggers.
 * @param client - a login that may switch triggers off
 */
export async function copyIn(client: pg.ClientBase, folder: string): Promise<void> {
  await client.query('SET session_replication_role = replica');
  for (const table of allTables) {
    const into = client.query(
      copyFrom(`COPY warehouse."${table.name}" (${columnsOf(table)}) FROM STDIN`),
    );
    const finished = once(into, 'finish');
    await pipeline(createReadStream(join(folder, table.name)), into);
    await finished.catch(() => {});
  }
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
