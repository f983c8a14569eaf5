// The part of forgetting a customer that no transaction can hold: files of reports, and dead rows.

import {readFile, rm} from 'node:fs/promises';
import type pg from 'pg';
import {escapeXml} from '../core/escape-xml.ts';
import {listReportFiles, vacuumAll} from './forget-customer.ts';

/** Files of weekly reports, by what became of them. */
export interface ClearedFiles {
  readonly removed: readonly string[];
  /** They cannot be read from here. */
  readonly unseen: readonly string[];
}

/**
 * Clears up behind a customer that was forgotten.
 * @param pool - as `vacuumAll` needs it
 * @param forgotten.names - texts by which the customer was found, read before it was forgotten
 */
export async function clearUpForgotten(
  pool: pg.Pool,
  {accountId, names}: {readonly accountId: string; readonly names: readonly string[]},
): Promise<ClearedFiles> {
  const files = await removeReports(await listReportFiles(pool, accountId), names);
  await vacuumAll(pool);
  return files;
}

/** A page names customers as HTML: a file that holds one of the names goes as a whole. */
async function removeReports(
  files: readonly string[],
  names: readonly string[],
): Promise<ClearedFiles> {
  const removed: string[] = [];
  const unseen: string[] = [];
  const escaped = names.flatMap((name) => [name, escapeXml(name)]);
  for (const file of files) {
    const page = await readFile(file, 'utf8').catch(() => null);
    if (page === null) unseen.push(file);
    else if (escaped.some((name) => page.includes(name))) {
      await rm(file);
      removed.push(file);
    }
  }
  return {removed, unseen};
}
