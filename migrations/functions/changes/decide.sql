-- Decides many changes alike, each separately: a change that cannot be decided does not block the
-- others. One statement decides all changes that need no further check. The rest are decided one by
-- one, which waits for locks and returns refusals in words. Changes are given up from the last to
-- the first. Otherwise the end of a create would end the changes that wait for it, before their
-- turn comes.
CREATE OR REPLACE FUNCTION sync.decide_changes(wanted bigint[], verb text, given text DEFAULT NULL)
RETURNS TABLE (change_id bigint, state text, refusal text)
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  hint text;
  decided bigint[] := '{}';
BEGIN
  IF verb IS NULL OR verb NOT IN ('hold', 'release', 'retry', 'cancel', 'accept', 'resolve') THEN
    RAISE EXCEPTION 'decide_changes: expected hold, release, retry, cancel, accept or resolve, got '
      '%', coalesce(verb, 'nothing')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  FOR change_id, state IN SELECT * FROM sync.decide_free(wanted, verb, given) LOOP
    decided := decided || change_id;
    RETURN NEXT;
  END LOOP;
  FOR change_id IN
    SELECT id FROM (SELECT unnest(wanted) EXCEPT SELECT unnest(decided)) AS each (id)
    ORDER BY CASE verb WHEN 'cancel' THEN -id ELSE id END
  LOOP
    state := NULL;
    refusal := NULL;
    BEGIN
      state := CASE verb WHEN 'hold' THEN sync.hold_change(change_id) WHEN 'release'
        THEN sync.release_change(change_id)
                         WHEN 'retry' THEN sync.retry_change(change_id) WHEN 'cancel'
                         THEN sync.cancel_change(change_id, given)
                         WHEN 'accept' THEN sync.accept_change(change_id)
                         ELSE sync.resolve_change(change_id, given) END;
    EXCEPTION WHEN no_data_found OR object_not_in_prerequisite_state OR invalid_parameter_value
      OR unique_violation OR check_violation
                OR lock_not_available THEN
      GET STACKED DIAGNOSTICS refusal = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
      refusal := concat_ws('; ', refusal, nullif(hint, ''));
    END;
    RETURN NEXT;
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.decide_changes
  IS 'Decides many changes alike, each separately: hold, release, retry, cancel (with a reason), '
  'accept or resolve (with a decision). Gives the state of each, or why it cannot be.';
