// The weekly reports that are due, for mails and for files, and the mails of reports to the
// addresses of a list: rows of sync.report_mails. A report is made once for a list, an account and
// a week, when its time has come. It is stored unchanged until each address has it. Its figures are
// stored with it, so that the next report to that list shows what was restated since. It is sent at
// least once. It is sent twice only if a worker is lost between the mail server's answer and the
// note of it.

import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import type {Secret} from '../core/secret.ts';
import {
  claimDue,
  deliverClaim,
  deliverDue,
  type FailedTry,
  noteClaim,
  type SendClaim,
} from '../feed/deliver.ts';
import {openSmtp, type SendMeans, sendEmail} from '../feed/receivers.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {refreshStar} from '../star/mart.ts';
import {readReport, saveReported} from '../star/report.ts';
import {renderReportMail} from '../star/report-mail.ts';

/** A weekly report that is due. */
export interface DueReport {
  /** The list of addresses that gets it; if empty, it goes into a file. */
  readonly list: string;
  readonly accountId: string;
  readonly account: string;
  /** The Monday of the week that it describes. */
  readonly week: string;
}

/** Reports of one kind, such as those by e-mail: when they are due, and which were made. */
interface ReportKind {
  /** SQL of a relation with `name`, `account_id` (null: each account), `weekday` and `at`. */
  readonly lists: string;
  /** SQL of a relation with `list`, `account_id` and `week`. */
  readonly made: string;
  /** The accounts whose reports are made; null: all. */
  readonly accountIds: readonly string[] | null;
}

const mailReportKind: ReportKind = {
  lists: 'sync.report_lists',
  made: 'sync.report_mails',
  accountIds: null,
};

/** If no report was made for longer, earlier reports are left out. */
const maxWeeks = 4;

/**
 * The reports whose day and time have come, by the zone of their account, and whose account has its
 * jobs proven complete within a day. If a list has had a report, those of missed weeks are
 * included, the earliest first. None in a copy of the warehouse.
 */
async function listDueReports(
  db: Queryable,
  {lists, made, accountIds}: ReportKind,
): Promise<DueReport[]> {
  const {rows} = await db.query<DueReport>(
    `SELECT list.name AS list, account.account_key::text AS "accountId", account.name AS account,
            told.week::date::text AS week
       FROM ${lists} AS list
       JOIN (SELECT account.*, date_trunc('week', today)::date AS monday
               FROM mart.dim_account AS account) AS account
         ON coalesce(account.account_key = list.account_id, true)
       JOIN sync.accounts AS held ON held.account_id = account_key AND held.state = 'active'
      CROSS JOIN LATERAL (SELECT max(made.week) AS week FROM ${made} AS made
         WHERE made.list = list.name AND made.account_id = account_key) AS last
      CROSS JOIN LATERAL generate_series(
         CASE WHEN last.week IS NULL THEN monday - 7
              ELSE greatest(last.week + 7, monday - 7 * ${maxWeeks}) END,
         monday - 7, interval '7 days') AS told (week)
      WHERE EXISTS (SELECT FROM ${lists} AS any_list)
        AND coalesce(account_key = ANY ($1), true)
        AND jobs_fresh_as_of > now() - interval '1 day' AND NOT sync.is_copy()
        AND now() >= ((told.week::date + 6 + list.weekday) + list.at) AT TIME ZONE account.time_zone
      ORDER BY list.name, account.name, told.week`,
    [accountIds],
  );
  return rows;
}

/**
 * Makes the mails of a report, one for each address of its list, and stores its figures.
 * @returns how many; 0 if another worker has made them
 */
async function makeReportMails(
  {pool, consoleUrl}: Pick<ReportDeps, 'pool' | 'consoleUrl'>,
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
    const report = await readReport(client, accountId, {list, week});
    const {subject, text, html} = renderReportMail(report, consoleUrl);
    await client.query(
      `UPDATE sync.report_mails SET subject = $4, body_text = $5, body_html = $6
        WHERE list = $1 AND account_id = $2 AND week = $3`,
      [list, accountId, week, subject, text, html],
    );
    await saveReported(client, accountId, {figures: report.figures, list});
    return rowCount;
  });
}

/** A mail that this process sends. */
interface ReportMail extends SendClaim {
  readonly list: string;
  readonly account: string;
  readonly address: string;
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /**
   * Whether the worker before this one was lost while it sent: the address may have the mail
   * already.
   */
  readonly isRepeat: boolean;
}

const reportQueue = {
  table: 'sync.report_mails',
  id: 'mail_id',
  onClaim: `, state = 'sending', attempts = claimed.attempts + 1,
    repeats = claimed.repeats + (claimed.state = 'sending')::integer`,
  onRelease: `, state = 'due', due_at = now()`,
} as const;

/** Claims mails that are due. */
async function claimReportMails(db: Queryable, limit: number): Promise<ReportMail[]> {
  const select = {
    columns: `due.list, account.name AS account, due.address, due.message_id AS "messageId",
      due.subject, due.body_text AS text, due.body_html AS html, due.attempts AS failures,
      due.state = 'sending' AS "isRepeat", NULL::text AS "keyId", NULL::bytea AS bytes`,
    joins: 'JOIN sync.accounts AS account USING (account_id)',
    where: `due.state IN ('due', 'sending') AND NOT sync.is_copy()`,
  };
  return await claimDue<ReportMail>(db, reportQueue, select, [limit]);
}

const clearBody = 'body_text = NULL, body_html = NULL, lease_until = NULL';

/**
 * Notes that the mail server accepted a mail.
 * @returns whether the mail was still ours
 */
async function saveReportSent(db: Queryable, mail: ReportMail): Promise<boolean> {
  const changes = `state = 'sent', sent_at = now(), last_error = NULL, ${clearBody}`;
  return await noteClaim(db, reportQueue, mail, changes);
}

/** Notes that the mail server did not accept a mail: it is due again later, or given up. */
async function saveReportFailed(
  db: Queryable,
  mail: ReportMail,
  {error, afterMs, isLast}: FailedTry,
): Promise<boolean> {
  const state = isLast ? `state = 'failed', ${clearBody}` : `state = 'due', lease_until = NULL`;
  return await noteClaim(
    ...[db, reportQueue, mail],
    `${state}, last_error = $3, due_at = now() + $4 * interval '1 millisecond'`,
    [error, afterMs],
  );
}

interface ReportDeps extends Omit<SendMeans, 'keys'> {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** The mail server; null: mails wait for a worker that has one. */
  readonly smtpUrl: Secret | null;
  /** The address of the console that people use; null: mails have no links. */
  readonly consoleUrl: URL | null;
  readonly signal?: AbortSignal;
  /** Called after each report that was made, and after each mail that was tried. */
  readonly onDone?: () => void;
}

/** Mail servers accept few connections of one sender. */
const maxParallel = 4;
const backOff = {firstMs: 60_000, longestMs: 7_200_000};
/** About a week of tries: then the next report is due. */
const maxTries = 90;

/**
 * Makes the reports that are due, and sends the mails that are due.
 * @throws the error of the first report that could not be made, after all else was done
 */
export async function mailReports(deps: ReportDeps): Promise<void> {
  const errors = await makeDueReports(deps, mailReportKind, async (report) => {
    const {list, account, week} = report;
    const mails = await makeReportMails(deps, report);
    if (mails > 0)
      deps.log.info(
        {event: 'report.mails_created', list, account, week, mails},
        'the mails of a weekly report are made',
      );
  });
  if (deps.smtpUrl !== null) await sendDueReports(deps, deps.smtpUrl);
  if (errors.length > 0) throw errors[0];
}

export type MakingDeps = Pick<ReportDeps, 'pool' | 'log' | 'signal' | 'onDone'>;

/**
 * Makes the reports of a kind that are due. One that cannot be made holds up those of later weeks,
 * and no other one.
 * @param make - makes a report, unless another worker has made it
 * @returns the errors of those that could not be made
 */
export async function makeDueReports(
  {pool, log, signal, onDone}: MakingDeps,
  kind: ReportKind,
  make: (report: DueReport) => Promise<void>,
): Promise<unknown[]> {
  const errors: unknown[] = [];
  const blockedLists = new Set<string>();
  const dueReports = await listDueReports(pool, kind);
  if (dueReports.length > 0) await refreshStar(pool);
  for (const report of dueReports) {
    if (signal?.aborted === true) break;
    const {list, account, week} = report;
    const key = JSON.stringify([list, account]);
    if (blockedLists.has(key)) continue;
    try {
      await make(report);
      onDone?.();
    } catch (error) {
      errors.push(error);
      blockedLists.add(key);
      const facts = {...(list === '' ? {} : {list}), account, week, reason: String(error)};
      log.error(
        {event: 'report.failed', ...facts},
        'the weekly report could not be made; it is tried again',
      );
    }
  }
  return errors;
}

async function sendDueReports(deps: ReportDeps, smtpUrl: Secret): Promise<void> {
  const {pool, signal, onDone} = deps;
  const options = {
    queue: reportQueue,
    backOff,
    mostTries: maxTries,
    send: (mail: ReportMail) => sendReport(deps, smtpUrl, mail),
    refuse: (mail: ReportMail, failed: FailedTry) => postpone(deps, mail, failed),
  };
  await deliverDue(
    {signal, atOnce: maxParallel},
    (limit) => claimReportMails(pool, limit),
    async (mail) => {
      await deliverClaim({pool, signal}, options, mail);
      onDone?.();
    },
  );
}

async function sendReport(deps: ReportDeps, smtpUrl: Secret, mail: ReportMail): Promise<true> {
  const {pool, log, allowsLinkLocal, signal} = deps;
  const {list, account, address, isRepeat} = mail;
  const facts = {list, account, address};
  if (isRepeat)
    log.warn(
      {event: 'report.sent_again', ...facts},
      'a worker was lost while it sent this report: the address may get it twice',
    );
  const server = openSmtp(smtpUrl.reveal(), deps);
  await sendEmail({to: address, server}, mail, {allowsLinkLocal, signal});
  await saveReportSent(pool, mail);
  log.info({event: 'report.sent', ...facts}, 'the mail server took a weekly report');
  return true;
}

async function postpone(
  {pool, log}: ReportDeps,
  mail: ReportMail,
  failed: FailedTry,
): Promise<void> {
  if (!(await saveReportFailed(pool, mail, failed))) return;
  const {list, account, address, failures} = mail;
  const facts = {list, account, address, attempt: failures + 1, reason: failed.error};
  if (failed.isLast)
    log.error({event: 'report.given_up', ...facts}, 'a mail of the weekly report was given up');
  else
    log.warn(
      {event: 'report.postponed', ...facts},
      'the mail server did not take a weekly report; it is tried again',
    );
}
