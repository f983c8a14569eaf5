// Who gets the weekly report by e-mail: the rows of sync.report_lists, and how the mails of each
// list fare. Times of day are in the zone of the account, instants by the clock of the database.

import type {Queryable} from '../postgres/database.ts';

/** A list as a file of settings has it. */
export interface ReportListSetting {
  readonly name: string;
  readonly addresses: readonly string[];
  /** Name of the only account that is reported; null for every account. */
  readonly account: string | null;
  /** Monday is 1, Sunday 7. */
  readonly weekday: number;
  /** `06:00` */
  readonly at: string;
}

const settingColumns = `list.name, list.addresses, account.name AS account, list.weekday,
  to_char(list.at, 'HH24:MI') AS at`;

/** The lists, by name. */
export async function listReportListSettings(db: Queryable): Promise<ReportListSetting[]> {
  const {rows} = await db.query<ReportListSetting>(
    `SELECT ${settingColumns} FROM sync.report_lists AS list
       LEFT JOIN sync.accounts AS account USING (account_id) ORDER BY list.name`,
  );
  return rows;
}

/**
 * Makes a list, or changes the one of that name. Mails to an address that is no longer on it are
 * not sent.
 */
export async function writeReportList(
  db: Queryable,
  {name, addresses, account, weekday, at}: ReportListSetting,
): Promise<void> {
  await db.query(
    `INSERT INTO sync.report_lists (name, addresses, account_id, weekday, at)
     VALUES ($1, $2, (SELECT account_id FROM sync.accounts WHERE name = $3), $4, $5)
         ON CONFLICT (name) DO UPDATE SET addresses = EXCLUDED.addresses,
            account_id = EXCLUDED.account_id, weekday = EXCLUDED.weekday, at = EXCLUDED.at`,
    [name, addresses, account, weekday, at],
  );
  await db.query(
    `DELETE FROM sync.report_mails AS mail USING sync.report_lists AS list
      WHERE mail.list = $1 AND list.name = $1 AND mail.state <> 'sent'
        AND (mail.address <> ALL (list.addresses) OR mail.account_id <> list.account_id)`,
    [name],
  );
}

/** Removes a list, and what is still to be sent to it. */
export async function deleteReportList(db: Queryable, name: string): Promise<void> {
  await db.query('DELETE FROM sync.report_lists WHERE name = $1', [name]);
}

/** A report that is late: its time has come, and nothing was made of it. */
interface LateReport {
  readonly account: string;
  /** When it was due. */
  readonly since: string;
  /** When the jobs of the account were last proven complete; null if never. */
  readonly freshAsOf: string | null;
}

/** A list, and how its mails fare. Instants are ISO 8601 in UTC. */
export interface ReportListHealth extends ReportListSetting {
  readonly addedAt: string;
  /** When a mail server last took one of its mails. */
  readonly lastSentAt: string | null;
  /** Mails that are still to be sent. */
  readonly waiting: number;
  /** Mails that were given up within the last eight days, and not followed by one that was sent. */
  readonly givenUp: number;
  /** Mails of the last eight days that may have arrived twice. */
  readonly repeated: number;
  /** Since when mails do not arrive; null while nothing is wrong with them. */
  readonly failingSince: string | null;
  /** Why the last try failed; null also where no worker has tried. */
  readonly lastError: string | null;
  /** Reports that were not made six hours after their time. */
  readonly late: readonly LateReport[];
}

/** The first tries may meet a mail server that is just being restarted. */
const failingAfterTries = 3;
/** A worker looks once a minute. */
const untakenAfter = "interval '10 minutes'";
/** A report waits until the night before it is proven complete. */
const grace = "interval '6 hours'";

const isGivenUp = `(mail.state = 'failed' AND mail.due_at > now() - interval '8 days'
  AND NOT EXISTS (SELECT FROM sync.report_mails AS later
    WHERE (later.list, later.account_id, later.address) = (mail.list, mail.account_id, mail.address)
      AND later.sent_at > mail.due_at))`;

const isFailing = `(mail.state IN ('due', 'sending')
  AND (mail.attempts >= ${failingAfterTries} AND mail.last_error IS NOT NULL
    OR coalesce(mail.lease_until, mail.due_at) < now() - ${untakenAfter}) OR ${isGivenUp})`;

/**
 * The active accounts of each list, with the first time after its last report, or after it was
 * added, at which one is due.
 */
const nextDue = `(
  SELECT list.name AS list, account.name, account.jobs_fresh_as_of,
         (slot + CASE WHEN slot > local.since THEN interval '0' ELSE interval '7 days' END)
           AT TIME ZONE account.time_zone AS due_at
    FROM sync.report_lists AS list
    JOIN mart.dim_account AS account ON coalesce(account.account_key = list.account_id, true)
    JOIN sync.accounts AS held ON held.account_id = account.account_key AND held.state = 'active'
   CROSS JOIN LATERAL (
      SELECT coalesce(max(made_at), list.added_at) AT TIME ZONE account.time_zone AS since
        FROM sync.report_mails AS mail
       WHERE mail.list = list.name AND mail.account_id = account.account_key) AS local
   CROSS JOIN LATERAL (
      SELECT date_trunc('week', local.since) + (list.weekday - 1) * interval '1 day' + list.at
        AS slot) AS time) AS next`;

/** Every list, by name. */
export async function listReportLists(db: Queryable): Promise<ReportListHealth[]> {
  const {rows} = await db.query<ReportListHealth>(
    `SELECT ${settingColumns}, list.added_at AS "addedAt", mails.*,
            ARRAY(SELECT json_build_object('account', next.name, 'since', next.due_at,
                    'freshAsOf', next.jobs_fresh_as_of)
                    FROM ${nextDue}
                   WHERE next.list = list.name AND next.due_at < now() - ${grace}
                   ORDER BY next.due_at, next.name) AS late
       FROM sync.report_lists AS list
       LEFT JOIN sync.accounts AS account USING (account_id)
      CROSS JOIN LATERAL (
         SELECT max(mail.sent_at) AS "lastSentAt",
                count(*) FILTER (WHERE mail.state IN ('due', 'sending'))::integer AS waiting,
                count(*) FILTER (WHERE ${isGivenUp})::integer AS "givenUp",
                count(*) FILTER (WHERE mail.repeats > 0
                  AND mail.made_at > now() - interval '8 days')::integer AS repeated,
                min(mail.made_at) FILTER (WHERE ${isFailing}) AS "failingSince",
                (array_agg(mail.last_error ORDER BY mail.due_at DESC)
                  FILTER (WHERE mail.last_error IS NOT NULL AND ${isFailing}))[1] AS "lastError"
           FROM sync.report_mails AS mail WHERE mail.list = list.name) AS mails
      ORDER BY list.name`,
  );
  return rows;
}
