-- The changes that may be removed: they have ended, and nothing depends on them. Some stay, however
-- old: a change that another waits for; the last refused create of a row that still exists; a
-- change with the alteration for which others are held, or with the last one of its kind that a
-- person has accepted.
CREATE OR REPLACE FUNCTION sync.prunable_changes(cutoff timestamptz) RETURNS SETOF bigint
  LANGUAGE sql STABLE AS $$
  SELECT change_id FROM sync.changes AS old
   WHERE settled_at < cutoff AND NOT is_open
     AND NOT EXISTS (SELECT FROM sync.changes AS waiting WHERE waiting.waits_for = old.change_id)
     AND NOT EXISTS (SELECT FROM sync.alterations AS seen
                      WHERE seen.change_id = old.change_id
                        AND (seen.is_stop OR seen.accepted_at IS NOT NULL AND NOT EXISTS (
                               SELECT FROM sync.alterations AS later
                                WHERE later.account_id = seen.account_id AND later.kind = seen.kind
                                  AND later.alteration_id > seen.alteration_id
                                  AND later.accepted_at IS NOT NULL)))
     AND NOT (state = 'rejected' AND operation = 'create'
       AND EXISTS (SELECT FROM mart.wanted WHERE wanted.change_id = old.change_id))
   ORDER BY settled_at, change_id
$$;
COMMENT ON FUNCTION sync.prunable_changes
  IS 'Changes that were over before a given time, and that nothing depends on.';

-- Requests of the HTTP API are removed before the changes that they made: a request that comes
-- again is answered with its changes.
CREATE OR REPLACE FUNCTION sync.prune_changes(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone bigint;
BEGIN
  DELETE FROM sync.api_requests WHERE (account_id, system, idempotency_key) IN (
    SELECT request.account_id, request.system, request.idempotency_key
      FROM sync.accounts AS account
      JOIN sync.api_requests AS request USING (account_id)
     WHERE request.requested_at < cutoff LIMIT most);
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN
    RETURN gone;
  END IF;
  WITH removed AS (
    DELETE FROM sync.changes WHERE change_id IN (SELECT old
      FROM sync.prunable_changes(cutoff) AS old LIMIT most) RETURNING *
  ), noted AS (
    -- The end of a change that came to nothing wrote the row as it was before. History keeps the
    -- author of that change.
    INSERT INTO history.edits (row_id, table_name, at, kind, written_by, application)
    SELECT row_id, table_name, settled_at, 'update', requested_by,
      format('change %s, %s', change_id, state) FROM removed WHERE state <> 'done'
        ON CONFLICT DO NOTHING
  )
  SELECT count(*) INTO gone FROM removed;
  RETURN gone;
END
$$;
COMMENT ON FUNCTION sync.prune_changes
  IS 'Removes up to so many changes that are over, with all that hangs on them.';
