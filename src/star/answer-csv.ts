import {once} from 'node:events';
import type {Writable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import pg from 'pg';
import {to as copyTo} from 'pg-copy-streams';
import {formulaStart} from '../core/text.ts';

/** Excel takes a file for UTF-8 where it begins with this. */
const byteOrderMark = '\uFEFF';

/**
 * Writes the rows of a statement as CSV, as Postgres makes it: no row passes through our code.
 * @returns how many rows
 * @param isForSpreadsheet - with a mark that tells its encoding, and texts that look like a formula
 *   after an apostrophe
 */
export async function writeCsv(
  client: pg.ClientBase,
  sql: string,
  {out, isForSpreadsheet}: {readonly out: Writable; readonly isForSpreadsheet: boolean},
): Promise<number> {
  if (isForSpreadsheet && !out.write(byteOrderMark)) await once(out, 'drain');
  const source = isForSpreadsheet ? await guard(client, sql) : sql;
  const rows = client.query(copyTo(`COPY (${source}) TO STDOUT (FORMAT csv, HEADER)`));
  await pipeline(rows, out, {end: false});
  return rows.rowCount;
}

/** The same statement, with texts that a spreadsheet would run after an apostrophe. */
async function guard(client: pg.ClientBase, sql: string): Promise<string> {
  const {fields} = await client.query(`SELECT * FROM (${sql}) AS described LIMIT 0`);
  const columns = fields.map(({name, dataTypeID}) => {
    const own = pg.escapeIdentifier(name);
    if (dataTypeID !== pg.types.builtins.TEXT) return own;
    return `CASE WHEN ${own} ~ ${pg.escapeLiteral(formulaStart)} THEN '''' || ${own}
                 ELSE ${own} END AS ${own}`;
  });
  return `SELECT ${columns.join(', ')} FROM (${sql}) AS guarded`;
}
