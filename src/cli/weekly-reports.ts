// The weekly reports that `start` makes by itself: one file for each account and week, from Monday
// 06:00 of the account.

import {mkdir, rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import {inTransaction} from '../postgres/database.ts';
import {keepReported, readReport} from '../star/report.ts';

interface Due {
  readonly accountId: string;
  readonly name: string;
  /** The Monday of the week. */
  readonly week: string;
}

/**
 * Makes the reports that are due. One waits until the jobs of its account are proven complete
 * within a day; `status` says where they are not.
 * @param folder - of the files: `acme-2026-11-16.html`
 * @param onMade - is told after each one
 * @throws the error of the first one that could not be made, after the others were
 */
export async function writeDueReports(
  pool: pg.Pool,
  {
    folder,
    accountIds,
    log,
    onMade,
  }: {
    readonly folder: string;
    readonly accountIds: readonly string[];
    readonly log: Logger;
    readonly onMade?: () => void;
  },
): Promise<void> {
  const errors: unknown[] = [];
  for (const due of await listDue(pool, accountIds)) {
    try {
      const file = await writeReport(pool, due, folder);
      if (file !== null)
        log.info({event: 'report.written', account: due.name, file}, 'the weekly report is there');
      onMade?.();
    } catch (error) {
      errors.push(error);
      log.error(
        {event: 'report.failed', account: due.name, reason: String(error)},
        'the weekly report could not be made; it is tried again',
      );
    }
  }
  if (errors.length > 0) throw errors[0];
}

async function listDue(pool: pg.Pool, accountIds: readonly string[]): Promise<readonly Due[]> {
  const {rows} = await pool.query<Due>(
    `SELECT account_key::text AS "accountId", name, week::text AS week
       FROM (SELECT account.*, date_trunc('week', today)::date - 7 AS week FROM mart.dim_account AS account) AS account
      WHERE account_key = ANY ($1) AND jobs_fresh_as_of > now() - interval '1 day'
        AND now() >= ((week + 7) + time '06:00') AT TIME ZONE time_zone
        AND NOT EXISTS (SELECT FROM sync.weekly_reports AS made WHERE made.account_id = account.account_key AND made.week = account.week)`,
    [accountIds],
  );
  return rows;
}

/** @returns null where another worker has made it */
async function writeReport(
  pool: pg.Pool,
  {accountId, name, week}: Due,
  folder: string,
): Promise<string | null> {
  const file = join(folder, `${name.replaceAll(/[^\w.-]+/g, '_')}-${week}.html`);
  return await inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL jit = off');
    const {rowCount} = await client.query(
      'INSERT INTO sync.weekly_reports (account_id, week, file) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [accountId, week, file],
    );
    if (rowCount === 0) return null;
    const report = await readReport(client, accountId);
    const {drawPage} = await import('../star/report-page.ts');
    await mkdir(folder, {recursive: true});
    await writeFile(`${file}.part`, drawPage(report, null));
    await rename(`${file}.part`, file);
    await keepReported(client, accountId, report.figures);
    return file;
  });
}
