// The weekly report on its way to the addresses of its lists: made when its time has come, sent at
// least once, and not twice unless a worker is lost between the mail server's answer and its note.

import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import type {Secret} from '../core/secret.ts';
import {deliverClaim, type FailedTry} from '../feed/deliver.ts';
import {sendEmail} from '../feed/mail.ts';
import {openSmtp, type SendMeans} from '../feed/receivers.ts';
import {refreshStar} from '../star/refresh-star.ts';
import {
  claimReportMails,
  listDueReports,
  makeReportMails,
  noteReportFailed,
  noteReportSent,
  type ReportMail,
  reportQueue,
} from './report-mails.ts';

export interface ReportDeps extends Omit<SendMeans, 'keys'> {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** The mail server; null: mails wait for a worker that has one. */
  readonly smtpUrl: Secret | null;
  readonly signal?: AbortSignal;
  /** Is told after each report that was made, and each few mails that were tried. */
  readonly onDone?: () => void;
}

/** Mail servers take few connections of one sender. */
const atOnce = 4;
const backOff = {firstMs: 60_000, longestMs: 3_600_000};
/** About a day of tries. */
const mostTries = 30;

/**
 * Makes the reports that are due, and sends the mails that are due.
 * @throws the error of the first report that could not be made, after all else was done
 */
export async function mailReports(deps: ReportDeps): Promise<void> {
  const errors = await makeDueReports(deps);
  if (deps.smtpUrl !== null) await sendDueReports(deps, deps.smtpUrl);
  if (errors.length > 0) throw errors[0];
}

/** A report that cannot be made holds up no other one. */
async function makeDueReports({pool, log, signal, onDone}: ReportDeps): Promise<unknown[]> {
  const errors: unknown[] = [];
  const due = await listDueReports(pool);
  if (due.length > 0) await refreshStar(pool);
  for (const report of due) {
    if (signal?.aborted === true) break;
    const {list, account, week} = report;
    try {
      const mails = await makeReportMails(pool, report);
      if (mails > 0)
        log.info(
          {event: 'report.mails_made', list, account, week, mails},
          'the mails of a weekly report are made',
        );
    } catch (error) {
      errors.push(error);
      log.error(
        {event: 'report.failed', list, account, reason: String(error)},
        'the weekly report could not be made; it is tried again',
      );
    }
    onDone?.();
  }
  return errors;
}

async function sendDueReports(deps: ReportDeps, smtpUrl: Secret): Promise<void> {
  const {pool, signal, onDone} = deps;
  const way = {
    ...{queue: reportQueue, backOff, mostTries},
    send: (mail: ReportMail) => sendReport(deps, smtpUrl, mail),
    refuse: (mail: ReportMail, failed: FailedTry) => postpone(deps, mail, failed),
  };
  for (;;) {
    if (signal?.aborted === true) return;
    const claimed = await claimReportMails(pool, atOnce);
    if (claimed.length === 0) return;
    await Promise.all(claimed.map((mail) => deliverClaim({pool, signal}, way, mail)));
    onDone?.();
  }
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
  await noteReportSent(pool, mail);
  log.info({event: 'report.sent', ...facts}, 'the mail server took a weekly report');
  return true;
}

async function postpone(
  {pool, log}: ReportDeps,
  mail: ReportMail,
  failed: FailedTry,
): Promise<void> {
  if (!(await noteReportFailed(pool, mail, failed))) return;
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
