-- Locks a change and its row. Refuses a change of another account than the caller's, one in a state
-- that is not allowed, and one that a worker holds.
CREATE OR REPLACE FUNCTION sync.lock_change(wanted bigint, allowed text[], verb text)
  RETURNS sync.changes
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes;
BEGIN
  SELECT * INTO change FROM sync.changes
  WHERE change_id = wanted AND account_id = ANY (sync.accounts_of(sync.caller()));
  IF change.change_id IS NULL THEN
    RAISE EXCEPTION 'change %: no change has that number', wanted
      USING ERRCODE = 'no_data_found';
  END IF;
  EXECUTE format('SELECT FROM warehouse.%I WHERE row_id = $1 FOR UPDATE', change.table_name)
    USING change.row_id;
  SELECT * INTO change FROM sync.changes WHERE change_id = wanted FOR UPDATE;
  IF NOT change.state = ANY (allowed) OR change.lease_until > clock_timestamp() THEN
    RAISE EXCEPTION 'change %: expected % to %, got %', wanted, array_to_string(allowed, ' or '),
      verb,
        change.state || CASE WHEN change.lease_until > clock_timestamp()
          THEN ', and a worker has it' ELSE '' END
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN change;
END
$$;
COMMENT ON FUNCTION sync.lock_change IS 'Locks a change and its row, or refuses by its state.';

CREATE OR REPLACE FUNCTION sync.hold_change(wanted bigint) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM sync.lock_change(wanted, '{pending}', 'hold it');
  UPDATE sync.changes SET state = 'held', reason = format('held by %s', sync.decider()),
    lease_until = NULL WHERE change_id = wanted;
  RETURN 'held';
END
$$;
COMMENT ON FUNCTION sync.hold_change
  IS 'Holds a pending change until it is released; gives its state.';

-- Releases a held change. A change held for a kind of value is refused, because it would be held
-- again: a person first has to accept the values that the service makes of that kind.
CREATE OR REPLACE FUNCTION sync.release_change(wanted bigint) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{held}', 'release it');
BEGIN
  IF change.held_for IS NOT NULL THEN
    RAISE EXCEPTION 'change %: %', wanted, change.reason
      USING ERRCODE = 'object_not_in_prerequisite_state',
        HINT = 'fieldmirror changes list --state altered';
  END IF;
  UPDATE sync.changes SET state = 'pending', reason = NULL, is_large = NULL, due_at = now()
   WHERE change_id = wanted;
  RETURN 'pending';
END
$$;
COMMENT ON FUNCTION sync.release_change IS 'Lets a held change be sent; gives its state.';

-- Makes a pending change due now, and sends a refused change once more: its row shows the wanted
-- values again.
CREATE OR REPLACE FUNCTION sync.retry_change(wanted bigint) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  change sync.changes := sync.lock_change(wanted, '{pending,in_doubt,rejected}', 'try it again');
  found bigint;
BEGIN
  IF change.state <> 'rejected' THEN
    UPDATE sync.changes SET due_at = now(), lease_until = NULL WHERE change_id = wanted;
    RETURN change.state;
  ELSIF EXISTS (SELECT FROM sync.changes WHERE table_name = change.table_name
    AND row_id = change.row_id AND change_id > wanted
                   AND state <> 'cancelled' AND waits_for IS NULL) THEN
    RAISE EXCEPTION 'change %: a later change of the same record has overtaken it', wanted
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Change the row again instead.';
  END IF;
  UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), settled_at = NULL,
    sends = 0, failures = 0 WHERE change_id = wanted;
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  -- The first update marks the row as under change. The second writes the values of the change into
  -- it.
  EXECUTE format('UPDATE warehouse.%I SET _pending = true WHERE row_id = $1', change.table_name)
    USING change.row_id;
  GET DIAGNOSTICS found = ROW_COUNT;
  IF found = 0 THEN
    RAISE EXCEPTION 'change %: its row was deleted', wanted
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  EXECUTE format('UPDATE warehouse.%I SET _hash = NULL WHERE row_id = $1', change.table_name)
    USING change.row_id;
  IF change.fields ? 'employee_ids' THEN
    UPDATE warehouse.job_employees SET _pending = true
     WHERE account_id = change.account_id
     AND (parent_row_id = change.row_id OR job_number = change.number)
       AND (_deleted_at IS NULL OR change.fields->'employee_ids' ? employee_id::text);
    UPDATE warehouse.job_employees SET _hash = NULL
     WHERE account_id = change.account_id
     AND (parent_row_id = change.row_id OR job_number = change.number) AND _pending;
  END IF;
  PERFORM set_config('fieldmirror.writer', writer, true);
  RETURN 'pending';
END
$$;
COMMENT ON FUNCTION sync.retry_change
  IS 'Makes a pending change due now, and sends again what the service refused; gives its '
  'state.';

-- A refused change can also be given up. The row of an update or a delete shows the values of the
-- service again. The row of a create that was not corrected is removed, together with the changes
-- that wait for that create.
CREATE OR REPLACE FUNCTION sync.cancel_change(wanted bigint, why text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{held,pending,conflict,rejected}', 'cancel it');
  said text := coalesce(why, format('cancelled by %s', sync.decider()))
               || CASE change.state WHEN 'rejected' THEN '; refused before: ' || change.reason
                 ELSE '' END;
BEGIN
  IF change.state = 'rejected' AND (change.operation <> 'create' OR EXISTS (
       SELECT FROM sync.changes WHERE table_name = change.table_name AND row_id = change.row_id
       AND operation = 'create'
          AND change_id > wanted AND state <> 'cancelled')) THEN
    UPDATE sync.changes SET state = 'cancelled', reason = said WHERE change_id = wanted;
  ELSE
    PERFORM sync.close_change(wanted, 'cancelled', said);
  END IF;
  RETURN 'cancelled';
END
$$;
COMMENT ON FUNCTION sync.cancel_change
  IS 'Gives up a change that is not on its way, for a reason; its row gets back what it held. '
  'Gives its state.';
