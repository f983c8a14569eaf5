-- Decides all given changes for which one statement is enough; the others are decided one by one.
-- The function skips locked rows, so it waits for no lock. A decision that leaves the rows as they
-- are needs only the lock of the change, because an author's edit takes that lock as well.
CREATE OR REPLACE FUNCTION sync.decide_free(wanted bigint[], verb text, given text)
  RETURNS TABLE (change_id bigint, state text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint[] := sync.accounts_of(sync.caller());
BEGIN
  IF verb = 'cancel' THEN
    RETURN QUERY SELECT id, 'cancelled'
      FROM sync.cancel_free(wanted, own, coalesce(given, format('cancelled by %s', sync.decider())))
      AS id;
  ELSIF verb IN ('hold', 'release', 'retry') THEN
    RETURN QUERY
      WITH free AS (
        SELECT change.change_id FROM sync.changes AS change
         WHERE change.change_id = ANY (wanted) AND account_id = ANY (own)
         AND (lease_until IS NULL OR lease_until <= clock_timestamp())
           AND CASE verb WHEN 'hold' THEN change.state = 'pending' WHEN 'release'
             THEN change.state = 'held' AND held_for IS NULL
                         ELSE change.state IN ('pending', 'in_doubt') END
         ORDER BY change.change_id FOR UPDATE SKIP LOCKED)
      UPDATE sync.changes AS held
         SET state = CASE verb WHEN 'hold' THEN 'held' WHEN 'release' THEN 'pending'
           ELSE held.state END,
             reason = CASE verb WHEN 'hold' THEN format('held by %s', sync.decider()) WHEN 'retry'
               THEN reason END,
             is_large = NULL,
             due_at = CASE verb WHEN 'hold' THEN due_at ELSE now() END, lease_until = NULL
        FROM free WHERE held.change_id = free.change_id
      RETURNING held.change_id, held.state;
  END IF;
END
$$;
COMMENT ON FUNCTION sync.decide_free
  IS 'Decides, in one statement, those of many changes for which that is enough.';

-- Gives up plain updates: no other change of the row is open and none waits, so the row gets back
-- the base and nothing else follows. Rows are locked before changes, as everywhere. A row that
-- another session has locked is skipped.
CREATE OR REPLACE FUNCTION sync.cancel_free(wanted bigint[], own bigint[], why text)
  RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  place text;
  names text;
  locked bigint[];
  given_up bigint[];
BEGIN
  FOR place IN
    SELECT DISTINCT table_name FROM sync.changes WHERE change_id = ANY (wanted)
    AND account_id = ANY (own)
       AND table_name IN ('customers', 'employees', 'jobs', 'tasks') ORDER BY table_name
  LOOP
    EXECUTE format('SELECT array_agg(row_id) FROM (
                      SELECT row_id FROM warehouse.%I WHERE row_id IN (SELECT row_id FROM '
                        'sync.changes WHERE change_id = ANY ($1) AND table_name = $2)
                       ORDER BY row_id FOR UPDATE SKIP LOCKED) AS held', place) INTO locked
                         USING wanted, place;
    WITH free AS (
      SELECT change_id FROM sync.changes AS change
       WHERE change_id = ANY (wanted) AND account_id = ANY (own) AND table_name = place
       AND row_id = ANY (locked)
         AND operation = 'update' AND number IS NOT NULL
         AND state IN ('held', 'pending') AND waits_for IS NULL
         AND (lease_until IS NULL OR lease_until <= clock_timestamp())
         AND NOT fields ? 'employee_ids'
         AND NOT EXISTS (SELECT FROM sync.conflicts WHERE conflicts.change_id = change.change_id
           AND winner IS NULL)
         AND NOT EXISTS (SELECT FROM sync.changes AS waiting
           WHERE waiting.waits_for = change.change_id)
         AND NOT EXISTS (SELECT FROM sync.changes AS other WHERE other.table_name = place
           AND other.row_id = change.row_id
                            AND other.change_id <> change.change_id AND other.is_open)
       ORDER BY change_id FOR UPDATE SKIP LOCKED), ended AS (
      UPDATE sync.changes AS held SET state = 'cancelled', reason = why, settled_at = now(),
        lease_until = NULL
        FROM free WHERE held.change_id = free.change_id RETURNING held.change_id)
    SELECT array_agg(change_id) INTO given_up FROM ended;
    CONTINUE WHEN given_up IS NULL;
    SELECT string_agg(format('%1$I = ((back.held).%1$I)', attname), ', ') INTO names
      FROM pg_attribute JOIN sync.write_rules ON table_name = place AND field = attname
     WHERE attrelid = format('warehouse.%I', place)::regclass AND NOT attisdropped;
    PERFORM set_config('fieldmirror.writer', 'sweep', true);
    EXECUTE format(
      'UPDATE warehouse.%1$I AS held SET %2$s, _hash = NULL
         FROM (SELECT row_id, jsonb_populate_record(was, (SELECT jsonb_object_agg(key, value) FROM '
           'jsonb_each(base) WHERE fields ? key)) AS held
                 FROM sync.changes JOIN warehouse.%1$I AS was USING (row_id) WHERE change_id = ANY '
                   '($1)) AS back
        WHERE held.row_id = back.row_id', place, names) USING given_up;
    PERFORM set_config('fieldmirror.writer', writer, true);
    DELETE FROM sync.known_records AS known USING sync.changes AS change
     WHERE change.change_id = ANY (given_up) AND known.account_id = change.account_id
     AND known.stream = place AND known.number = change.number;
    RETURN QUERY SELECT unnest(given_up);
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.cancel_free
  IS 'Gives up many plain updates at once; their rows get back what they held.';
