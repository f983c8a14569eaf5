// The mails of the weekly report: rows of sync.report_mails. A report is made once for a list, an
// account and a week, and is kept as it is until each address has it; its figures are kept with it,
// so that the next report to that list says what was restated since.

import type pg from 'pg';
import {claimDue, type FailedTry, noteClaim, type SendClaim} from '../feed/deliver.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {keepReported, readReport} from '../star/report.ts';
import {drawReportMail} from '../star/report-mail.ts';

/** A report that is due for a list. */
export interface DueReport {
  readonly list: string;
  readonly accountId: string;
  readonly account: string;
  /** The Monday of the week that it describes. */
  readonly week: string;
}

/**
 * The reports whose day and time have come, by the zone of their account: once its jobs are proven
 * complete within a day. None in a copy of the warehouse.
 */
export async function listDueReports(db: Queryable): Promise<DueReport[]> {
  const {rows} = await db.query<DueReport>(
    `SELECT list.name AS list, account.account_key::text AS "accountId", account.name AS account,
            week::text AS week
       FROM sync.report_lists AS list
       JOIN (SELECT account.*, date_trunc('week', today)::date - 7 AS week
               FROM mart.dim_account AS account) AS account
         ON coalesce(account.account_key = list.account_id, true)
       JOIN sync.accounts AS held ON held.account_id = account_key AND held.state = 'active'
      WHERE EXISTS (SELECT FROM sync.report_lists)
        AND jobs_fresh_as_of > now() - interval '1 day' AND NOT sync.is_copy()
        AND now() >= ((week + 6 + list.weekday) + list.at) AT TIME ZONE account.time_zone
        AND NOT EXISTS (SELECT FROM sync.report_mails AS made
          WHERE made.list = list.name AND made.account_id = account_key
            AND made.week = account.week)
      ORDER BY list.name, account.name`,
  );
  return rows;
}

/**
 * Makes the mails of a report, one for each address of its list, and keeps its figures.
 * @returns how many; 0 where another worker has made them
 */
export async function makeReportMails(
  pool: pg.Pool,
  {list, accountId, week}: DueReport,
): Promise<number> {
  return await inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL jit = off');
    const {rowCount} = await client.query(
      `INSERT INTO sync.report_mails (list, account_id, week, address)
       SELECT DISTINCT name, $2::bigint, $3::date, unnest(addresses) FROM sync.report_lists
        WHERE name = $1 ON CONFLICT DO NOTHING`,
      [list, accountId, week],
    );
    if (rowCount === null || rowCount === 0) return 0;
    const report = await readReport(client, accountId, list);
    const {subject, text, html} = drawReportMail(report);
    await client.query(
      `UPDATE sync.report_mails SET subject = $4, body_text = $5, body_html = $6
        WHERE list = $1 AND account_id = $2 AND week = $3`,
      [list, accountId, week, subject, text, html],
    );
    await keepReported(client, accountId, {figures: report.figures, list});
    return rowCount;
  });
}

/** A mail that this process sends. */
export interface ReportMail extends SendClaim {
  readonly list: string;
  readonly account: string;
  readonly address: string;
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Whether the worker before this one was lost while it sent: the address may have it already. */
  readonly isRepeat: boolean;
}

export const reportQueue = {
  ...{table: 'sync.report_mails', id: 'mail_id'},
  onClaim: `, state = 'sending', attempts = claimed.attempts + 1,
    repeats = claimed.repeats + (claimed.state = 'sending')::integer`,
  onRelease: `, state = 'due', due_at = now()`,
} as const;

/** Claims mails that are due. */
export async function claimReportMails(db: Queryable, limit: number): Promise<ReportMail[]> {
  const select = {
    columns: `due.list, account.name AS account, due.address, due.message_id AS "messageId",
      due.subject, due.body_text AS text, due.body_html AS html, due.attempts AS failures,
      due.state = 'sending' AS "isRepeat", NULL::text AS "keyId", NULL::bytea AS bytes`,
    joins: 'JOIN sync.accounts AS account USING (account_id)',
    where: `due.state IN ('due', 'sending') AND NOT sync.is_copy()`,
  };
  return await claimDue<ReportMail>(db, reportQueue, select, [limit]);
}

const noBody = 'body_text = NULL, body_html = NULL, lease_until = NULL';

/** The mail server took it. @returns whether it was still ours */
export async function noteReportSent(db: Queryable, mail: ReportMail): Promise<boolean> {
  const changes = `state = 'sent', sent_at = now(), last_error = NULL, ${noBody}`;
  return await noteClaim(db, reportQueue, mail, changes);
}

/** The mail server did not take it: it is due again later, or given up. */
export async function noteReportFailed(
  db: Queryable,
  mail: ReportMail,
  {error, afterMs, isLast}: FailedTry,
): Promise<boolean> {
  const state = isLast ? `state = 'failed', ${noBody}` : `state = 'due', lease_until = NULL`;
  return await noteClaim(
    ...[db, reportQueue, mail],
    `${state}, last_error = $3, due_at = now() + $4 * interval '1 millisecond'`,
    [error, afterMs],
  );
}
