-- Removes sent messages and traces of use: alerts, the audit, sessions of the console, weekly
-- reports.

-- The messages of an alert are removed with it. A digest is removed when no message belongs to it
-- any more.
CREATE OR REPLACE FUNCTION sync.prune_alerts(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone bigint;
BEGIN
  DELETE FROM sync.alerts WHERE alert_id IN (SELECT alert_id FROM sync.alerts
    WHERE resolved_at < cutoff ORDER BY resolved_at LIMIT most);
  GET DIAGNOSTICS gone = ROW_COUNT;
  DELETE FROM sync.alert_deliveries AS digest
   WHERE kind = 'digest' AND state IN ('sent', 'failed') AND created_at < cutoff
     AND NOT EXISTS (SELECT FROM sync.alert_deliveries AS told
       WHERE told.digest_id = digest.delivery_id);
  RETURN gone;
END
$$;
COMMENT ON FUNCTION sync.prune_alerts
  IS 'Removes up to so many alerts that were resolved before a given time, with their messages.';

CREATE OR REPLACE FUNCTION sync.prune_audit(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE sql AS $$
  WITH gone AS (
    DELETE FROM sync.audit WHERE audit_id IN (SELECT audit_id FROM sync.audit WHERE at < cutoff
      ORDER BY at LIMIT most) RETURNING 1
  )
  SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION sync.prune_audit
  IS 'Removes up to so many entries of the audit from before a given time.';

CREATE OR REPLACE FUNCTION sync.prune_sessions(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE sql AS $$
  WITH codes AS (
    DELETE FROM sync.sign_in_codes WHERE expires_at < cutoff
  ), gone AS (
    DELETE FROM sync.sessions WHERE session_id IN (
      SELECT session_id FROM sync.sessions WHERE expires_at < cutoff ORDER BY expires_at LIMIT most)
        RETURNING 1
  )
  SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION sync.prune_sessions
  IS 'Removes up to so many sessions that were over before a given time, and the sign-in links '
  'of that time.';

-- The newest report of a list and an account determines which week is due next, so its mails stay.
CREATE OR REPLACE FUNCTION sync.prunable_mails(cutoff timestamptz) RETURNS SETOF bigint
  LANGUAGE sql STABLE AS $$
  SELECT mail_id FROM sync.report_mails AS mail
   WHERE state IN ('sent', 'failed') AND made_at < cutoff
     AND EXISTS (SELECT FROM sync.report_mails AS later
       WHERE (later.list, later.account_id) = (mail.list, mail.account_id)
         AND later.week > mail.week)
$$;
COMMENT ON FUNCTION sync.prunable_mails
  IS 'The mails of weekly reports that were made before a given time, and are over.';

-- The next report is compared with the newest reported figure of each week.
CREATE OR REPLACE FUNCTION sync.prunable_figures(cutoff timestamptz) RETURNS SETOF tid
  LANGUAGE sql STABLE AS $$
  SELECT ctid FROM mart.reported AS figure
   WHERE known_as_of < cutoff AND EXISTS (SELECT FROM mart.reported AS later
     WHERE (later.account_key, later.metric, later.week, later.list)
         = (figure.account_key, figure.metric, figure.week, figure.list)
       AND later.known_as_of > figure.known_as_of)
$$;
COMMENT ON FUNCTION sync.prunable_figures
  IS 'The figures of weekly reports from before a given time that a later report showed again.';

CREATE OR REPLACE FUNCTION sync.prune_reports(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE sql AS $$
  WITH mails AS (
    DELETE FROM sync.report_mails WHERE mail_id IN (
      SELECT mail_id FROM sync.prunable_mails(cutoff) AS mail_id LIMIT most) RETURNING 1
  ), figures AS (
    DELETE FROM mart.reported WHERE ctid IN (
      SELECT place FROM sync.prunable_figures(cutoff) AS place LIMIT most) RETURNING 1
  )
  SELECT (SELECT count(*) FROM mails) + (SELECT count(*) FROM figures)
$$;
COMMENT ON FUNCTION sync.prune_reports
  IS 'Removes mails and figures of weekly reports from before a given time that are no longer '
  'needed.';
