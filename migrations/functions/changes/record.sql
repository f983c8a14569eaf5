-- Whether a grant holds the deletes of the caller: a grant of the caller, or of a role that it is a
-- member of. The login counts as well as the role that it has set. No grant holds a role that may
-- write as a worker: for a key of the HTTP API, the worker sets the key's own rule.
CREATE OR REPLACE FUNCTION sync.holds_deletes(of_account bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM sync.author_accounts AS granted
     CROSS JOIN unnest(ARRAY[sync.caller(), session_user]) AS author
     WHERE granted.account_id = of_account AND granted.holds_deletes
       AND NOT has_function_privilege(author, 'sync.write_as_worker()', 'EXECUTE')
       AND pg_has_role(author, to_regrole(quote_ident(granted.role_name)), 'MEMBER'))
$$;
COMMENT ON FUNCTION sync.holds_deletes IS 'Whether the deletes of the caller are held.';

-- The state in which a new change begins, and the reason, unless its author gave one. Any login can
-- set fieldmirror.mode. The setting can only hold more changes, so a login can delay only its own
-- changes.
CREATE OR REPLACE FUNCTION sync.first_state(of_account bigint, of_operation text,
  OUT state text, OUT why text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mode text := coalesce(current_setting('fieldmirror.mode', true), '');
BEGIN
  IF mode NOT IN ('', 'hold', 'hold-deletes') THEN
    RAISE EXCEPTION 'fieldmirror.mode: expected hold, hold-deletes, or nothing, got %',
      quote_literal(mode)
      USING ERRCODE = 'invalid_parameter_value',
        HINT = 'RESET fieldmirror.mode sends what you change.';
  END IF;
  state := CASE mode WHEN 'hold' THEN 'held' ELSE 'pending' END;
  IF state = 'pending' AND of_operation = 'delete'
    AND (mode = 'hold-deletes' OR sync.holds_deletes(of_account)) THEN
    state := 'held';
    why := 'deletes of its author wait for a person';
  END IF;
END
$$;
COMMENT ON FUNCTION sync.first_state IS 'The state in which a new change begins, and why.';

-- An earlier form had no `unseen`.
DROP FUNCTION IF EXISTS sync.record_change(bigint, text, bigint, text, bigint, jsonb, jsonb, bigint,
  text);

-- Records a change, or merges it into one that is not sent yet. The base of employee_ids is the
-- list that an earlier change on its way wants. This holds even if the edit joins a later change of
-- other fields. Removing an employee again then does not count as an edit that was taken back. An
-- edit never joins a change of another batch, so a batch can be held, released and undone
-- separately. Only a create takes in all edits of its row until it is sent. An edit also does not
-- join a change that wants a value for a field which the edit's author had not seen: it would
-- replace that unsent value.
-- @param unseen - the values that the author had seen, for fields that another writer changed since
CREATE OR REPLACE FUNCTION sync.record_change(
  of_account bigint, of_table text, of_row bigint, of_operation text, of_number bigint,
  edited jsonb, was jsonb, of_parent bigint DEFAULT NULL, of_key text DEFAULT NULL,
  unseen jsonb DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted_state text;
  why text;
  batch_name text := sync.batch();
  last sync.changes;
  blocker bigint;
  is_merged boolean;
  fixed text;
  made bigint;
  -- Most edits take nothing back, and this check costs a tenth of a new row.
  undone bigint[] := CASE WHEN current_setting('fieldmirror.undoes', true) <> ''
    THEN sync.undoing(of_table, of_row, of_operation, edited) END;
BEGIN
  SELECT begun.state, begun.why INTO wanted_state, why
    FROM sync.first_state(of_account, of_operation) AS begun;
  PERFORM sync.seen_position();
  SELECT * INTO last FROM sync.changes
   WHERE table_name = of_table AND row_id = of_row AND is_open
   ORDER BY change_id DESC LIMIT 1 FOR UPDATE;
  is_merged := coalesce(
    of_operation = 'update' AND last.state = wanted_state
      AND NOT coalesce(unseen ?| ARRAY(SELECT jsonb_object_keys(last.fields)), false)
      AND (last.lease_until IS NULL OR last.lease_until < clock_timestamp())
    AND (last.operation = 'update' AND last.batch IS NOT DISTINCT FROM batch_name
      OR last.operation = 'create' AND NOT EXISTS (
      SELECT FROM sync.write_rules WHERE table_name = of_table AND edited ? field
      AND NOT on_create)), false);
  IF was ? 'employee_ids' AND NOT (is_merged AND last.base ? 'employee_ids') THEN
    -- The base is the list that an earlier change wants, for that change is on its way.
    was := was || coalesce((
      SELECT jsonb_build_object('employee_ids', fields->'employee_ids') FROM sync.changes
       WHERE table_name = of_table AND row_id = of_row AND fields ? 'employee_ids' AND is_open
       ORDER BY change_id DESC LIMIT 1), '{}');
  END IF;
  IF is_merged THEN
    PERFORM sync.merge_change(last, edited, was, undone, unseen);
    PERFORM set_config('fieldmirror.last_change', last.change_id::text, false);
    RETURN;
  END IF;
  IF of_operation = 'update' THEN
    SELECT field INTO fixed FROM sync.write_rules WHERE table_name = of_table AND edited ? field
    AND on_create AND NOT on_update;
    IF fixed IS NOT NULL THEN
      PERFORM sync.refuse_column(of_table, fixed,
        'its create is on its way, and the service cannot change it afterwards',
        'Create another record.');
    END IF;
  END IF;
  IF of_operation <> 'create' THEN
    blocker := last.change_id;
  ELSIF of_parent IS NOT NULL THEN
    SELECT CASE WHEN state <> 'done' THEN change_id END INTO blocker FROM sync.changes
     WHERE row_id = of_parent AND operation = 'create'
       AND table_name = CASE WHEN of_table IN ('jobs', 'customer_notes') THEN 'customers'
         ELSE 'jobs' END
     ORDER BY change_id DESC LIMIT 1;
  END IF;
  INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, parent_row_id,
    external_key, fields, base, seen, state,
                            waits_for, fingerprint, application, requested_by, batch,
                              transaction_id, undoes, reason)
  VALUES (of_account, of_table, of_row, of_operation, of_number, of_parent, of_key, edited, was,
    unseen,
    wanted_state, blocker,
          CASE of_operation WHEN 'create' THEN sync.fingerprint(of_account, of_table, of_parent,
            edited) END,
          sync.application(), sync.decider(), batch_name, pg_current_xact_id()::text::bigint,
            undone,
          coalesce('takes back change ' || array_to_string(undone, ', '), why))
  RETURNING change_id INTO made;
  IF of_operation = 'create' THEN
    -- Changes that waited for a failed create now wait for the create that replaces it.
    UPDATE sync.changes AS waiting SET waits_for = made FROM sync.changes AS failed
     WHERE failed.table_name = of_table AND failed.row_id = of_row AND failed.operation = 'create'
     AND failed.state = 'rejected'
       AND waiting.waits_for = failed.change_id;
  END IF;
  PERFORM set_config('fieldmirror.last_change', made::text, false);
END
$$;
COMMENT ON FUNCTION sync.record_change IS 'Brings an edit into sync.changes.';

-- Earlier forms had no `undone`, no `unseen`.
DROP FUNCTION IF EXISTS sync.merge_change(sync.changes, jsonb, jsonb);
DROP FUNCTION IF EXISTS sync.merge_change(sync.changes, jsonb, jsonb, bigint[]);

-- Merges an edit into an unsent change: the newest wanted values over the oldest base. A worker
-- whose lease has run out must claim the change again, or it would send the earlier values.
CREATE OR REPLACE FUNCTION sync.merge_change(held sync.changes, edited jsonb, was jsonb,
  undone bigint[], unseen jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  merged jsonb := held.fields || edited;
  based jsonb := was || held.base;
BEGIN
  IF held.operation = 'create' THEN
    merged := jsonb_strip_nulls(CASE WHEN merged->'employee_ids' = '[]' THEN merged - 'employee_ids'
      ELSE merged END);
    based := '{}';
  ELSE
    IF was ? 'employee_ids' AND held.base ? 'employee_ids' THEN
      based := based || jsonb_build_object('employee_ids', (
        SELECT coalesce(jsonb_agg(DISTINCT id ORDER BY id), '[]')
          FROM jsonb_array_elements_text((was->'employee_ids') || (held.base->'employee_ids'))
            AS id));
    END IF;
    -- Fields that were changed back need no sending.
    SELECT coalesce(jsonb_object_agg(key, value), '{}') INTO merged FROM jsonb_each(merged)
    WHERE value IS DISTINCT FROM based->key;
    IF merged = '{}' THEN
      UPDATE sync.changes SET base = based, state = 'cancelled', settled_at = now(),
        lease_until = NULL,
             reason = 'changed back before it was sent'
       WHERE change_id = held.change_id;
      PERFORM sync.free_waiting(held.change_id);
      RETURN;
    END IF;
  END IF;
  UPDATE sync.changes
     SET fields = merged, base = based,
         seen = CASE operation WHEN 'create' THEN NULL
           ELSE nullif(coalesce(unseen, '{}') || coalesce(seen, '{}'), '{}') END,
         fence = fence + num_nonnulls(lease_until),
       lease_until = NULL,
         transaction_id = pg_current_xact_id()::text::bigint, undoes = undoes || undone,
         reason = coalesce('takes back change ' || array_to_string(undoes || undone, ', '), reason),
         fingerprint = CASE operation WHEN 'create'
           THEN sync.fingerprint(account_id, table_name, parent_row_id, merged) END
   WHERE change_id = held.change_id;
END
$$;
COMMENT ON FUNCTION sync.merge_change IS 'Brings an edit into an unsent change.';
