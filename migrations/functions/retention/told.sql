-- What was told and who looked: alerts, the audit, sessions of the console.

-- An alert takes its messages along. A digest goes when it tells nothing any more.
CREATE OR REPLACE FUNCTION sync.prune_alerts(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE plpgsql AS $$
DECLARE
  gone bigint;
BEGIN
  DELETE FROM sync.alerts WHERE alert_id IN (SELECT alert_id FROM sync.alerts
    WHERE mended_at < cutoff ORDER BY mended_at LIMIT most);
  GET DIAGNOSTICS gone = ROW_COUNT;
  DELETE FROM sync.alert_deliveries AS digest
   WHERE kind = 'digest' AND state IN ('sent', 'failed') AND created_at < cutoff
     AND NOT EXISTS (SELECT FROM sync.alert_deliveries AS told
       WHERE told.digest_id = digest.delivery_id);
  RETURN gone;
END
$$;
COMMENT ON FUNCTION sync.prune_alerts
  IS 'Removes up to so many alerts that were mended before a moment, with their messages.';

CREATE OR REPLACE FUNCTION sync.prune_audit(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE sql AS $$
  WITH gone AS (
    DELETE FROM sync.audit WHERE audit_id IN (SELECT audit_id FROM sync.audit WHERE at < cutoff
      ORDER BY at LIMIT most) RETURNING 1
  )
  SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION sync.prune_audit
  IS 'Removes up to so many entries of the audit from before a moment.';

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
  IS 'Removes up to so many sessions that were over before a moment, and the sign-in links of that '
  'time.';
