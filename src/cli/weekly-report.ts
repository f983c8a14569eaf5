// The report of the last whole week: by the verb `report`, and by `start`, one file for each
// account and week, from Monday 06:00 of the account.

import {mkdir, rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type pg from 'pg';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {widthOf} from '../core/text.ts';
import {inTransaction} from '../postgres/database.ts';
import {checkMigrations} from '../schema/checks.ts';
import {keepReported, type Report, readReport, tellAge} from '../star/report.ts';
import {drawReport} from '../star/report-mail.ts';
import {chooseAccount} from './accounts.ts';
import {checkPath, writeText} from './export.ts';
import {print} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

interface ReportOptions {
  readonly account?: string;
  readonly html?: boolean;
  /** A file, in place of standard output. */
  readonly to?: string;
  /** Made from data that is too old as well; it says so on top. */
  readonly force?: boolean;
  readonly json: boolean;
}

/**
 * Makes the report of the last whole week. The figures of one that goes into a file are kept, so
 * that the next says what is restated.
 * @returns the exit code
 * @throws {UsageError} the data is too old for a report, and it was not asked for all the same; the
 *   file cannot be written
 * @throws {FatalError} the warehouse is not of this version
 */
export async function report(config: Config, options: ReportOptions): Promise<number> {
  if (options.to !== undefined) checkPath('report: --to', options.to);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const {accountId} = await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      const access = options.to === undefined ? 'READ ONLY' : 'READ WRITE';
      await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ ${access}; SET LOCAL jit = off`);
      const made = await readReport(client, accountId);
      const warning = tellAge(made);
      if (warning !== null && options.force !== true)
        throw new UsageError(
          `report: ${warning}; run fieldmirror sync jobs, or ask for it all the same with --force`,
        );
      await give(options, made, warning);
      // Only a file is delivered: what was looked at on the screen is still news in the next
      // report.
      if (options.to !== undefined) await keepReported(client, accountId, made);
      await client.query('COMMIT');
      return 0;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  });
}

async function give(options: ReportOptions, made: Report, warning: string | null): Promise<void> {
  const text = await draw(options, made, warning);
  if (options.to === undefined) {
    print(options.json && options.html !== true, {
      json: {...made, warning},
      text,
      isDocument: options.html === true,
    });
    return;
  }
  await writeText(options.to, text).catch((error: Error) => {
    throw new UsageError(`report: --to ${options.to}: ${error.message}`, {cause: error});
  });
  print(options.json, {json: {file: options.to}, text: options.to});
}

/** A file is HTML, unless its name says otherwise. */
async function draw(
  {html, to, json}: ReportOptions,
  made: Report,
  warning: string | null,
): Promise<string> {
  if (html === true || (to !== undefined && !json && !to.endsWith('.txt'))) {
    const {drawPage} = await import('../star/report-page.ts');
    return drawPage(made, warning);
  }
  return json
    ? `${JSON.stringify({...made, warning}, null, 2)}\n`
    : drawReport(made, warning, to === undefined ? widthOf(process.stdout) : null);
}

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
       FROM (SELECT account.*, date_trunc('week', today)::date - 7 AS week
         FROM mart.dim_account AS account) AS account
      WHERE account_key = ANY ($1) AND jobs_fresh_as_of > now() - interval '1 day'
        AND now() >= ((week + 7) + time '06:00') AT TIME ZONE time_zone
        AND NOT EXISTS (SELECT FROM sync.weekly_reports AS made
          WHERE made.account_id = account.account_key AND made.week = account.week)`,
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
      `INSERT INTO sync.weekly_reports (account_id, week, file) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING`,
      [accountId, week, file],
    );
    if (rowCount === 0) return null;
    const report = await readReport(client, accountId);
    const {drawPage} = await import('../star/report-page.ts');
    await mkdir(folder, {recursive: true});
    await writeFile(`${file}.part`, drawPage(report, null));
    await rename(`${file}.part`, file);
    await keepReported(client, accountId, report);
    return file;
  });
}
