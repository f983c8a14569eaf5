-- Ends a change that will not be sent, or that the service refused. The row gets its former values
-- back, but keeps the values that other open changes want. The record is read again, because its
-- values at the service are now unknown. The row of a refused create stays, to be corrected or
-- deleted.
CREATE OR REPLACE FUNCTION sync.close_change(closing bigint, closed_as text, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  change sync.changes;
BEGIN
  UPDATE sync.changes SET state = closed_as, reason = why, settled_at = now(), lease_until = NULL
    WHERE change_id = closing RETURNING * INTO change;
  UPDATE sync.conflicts SET winner = 'service', decided_at = now(), decided_by = sync.decider()
    WHERE change_id = closing AND winner IS NULL;
  IF change.operation <> 'create' THEN
    PERFORM sync.free_waiting(closing);
    PERFORM sync.rebase_later(change, change.base);
    PERFORM sync.restore_row(change);
  ELSIF closed_as = 'cancelled' OR EXISTS (
    SELECT FROM sync.changes WHERE table_name = change.table_name AND row_id = change.row_id
    AND operation = 'delete' AND is_open) THEN
    PERFORM sync.forget_row(change.table_name, change.row_id);
  ELSE
    PERFORM set_config('fieldmirror.writer', 'sweep', true);
    EXECUTE format('UPDATE warehouse.%I SET _pending = NULL WHERE row_id = $1 AND _pending',
      change.table_name) USING change.row_id;
    IF change.table_name = 'jobs' THEN
      UPDATE warehouse.job_employees SET _pending = NULL WHERE parent_row_id = change.row_id
        AND _pending;
    END IF;
    PERFORM set_config('fieldmirror.writer', writer, true);
  END IF;
END
$$;
COMMENT ON FUNCTION sync.close_change
  IS 'Ends a change as cancelled or rejected; the row gets back what it held.';

-- Removes a row that was never created at the service, and the rows that were to belong to it. A
-- refused create of the row is given up: nobody can correct it any more.
CREATE OR REPLACE FUNCTION sync.forget_row(of_table text, of_row bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  waiting sync.changes;
BEGIN
  -- Changes end one at a time: the end of one may let another wait for the same create.
  LOOP
    SELECT change.* INTO waiting FROM sync.changes AS made JOIN sync.changes AS change
    ON change.waits_for = made.change_id
     WHERE made.table_name = of_table AND made.row_id = of_row AND made.operation = 'create'
     AND change.is_open
     ORDER BY change.change_id DESC LIMIT 1;
    EXIT WHEN waiting.change_id IS NULL;
    EXECUTE format('SELECT FROM warehouse.%I WHERE row_id = $1 FOR UPDATE', waiting.table_name)
      USING waiting.row_id;
    PERFORM sync.close_change(waiting.change_id, 'cancelled',
      format('it waited for change %s, which came to nothing', waiting.waits_for));
  END LOOP;
  UPDATE sync.changes SET state = 'cancelled',
    reason = format('the row was deleted; refused before: %s', reason)
   WHERE table_name = of_table AND row_id = of_row AND state = 'rejected';
  -- The writer is not `sweep`, so history records who removed the row.
  PERFORM set_config('fieldmirror.writer', 'repair', true);
  IF of_table = 'jobs' THEN
    DELETE FROM warehouse.job_employees WHERE parent_row_id = of_row AND job_number IS NULL;
  END IF;
  EXECUTE format('DELETE FROM warehouse.%I WHERE row_id = $1', of_table) USING of_row;
  PERFORM set_config('fieldmirror.writer', writer, true);
END
$$;
COMMENT ON FUNCTION sync.forget_row
  IS 'Removes a row that was never created, and what was to hang on it.';

-- Later changes of a record have a base that never became real. Their base is corrected, up to the
-- next change that wants the same field.
CREATE OR REPLACE FUNCTION sync.rebase_later(change sync.changes, given jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  left_over jsonb := (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(given)
    WHERE change.fields ? key);
  later sync.changes;
BEGIN
  FOR later IN
    SELECT * FROM sync.changes WHERE table_name = change.table_name AND row_id = change.row_id
    AND change_id > change.change_id AND is_open
     ORDER BY change_id FOR UPDATE
  LOOP
    UPDATE sync.changes SET base = base || (SELECT coalesce(jsonb_object_agg(key, value), '{}')
      FROM jsonb_each(left_over) WHERE later.base ? key)
     WHERE change_id = later.change_id;
    left_over := left_over - ARRAY(SELECT jsonb_object_keys(later.fields));
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.rebase_later
  IS 'Corrects what later changes of a record were made from when this one came to nothing.';

-- Writes the base of a change back into its row; the trigger keeps the values that other open
-- changes want.
CREATE OR REPLACE FUNCTION sync.restore_row(change sync.changes) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  back jsonb := CASE change.operation WHEN 'delete' THEN '{"_deleted_at": null}' ELSE
    (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(change.base)
      WHERE change.fields ? key AND key <> 'employee_ids') END;
  stream_name text := CASE WHEN change.table_name = 'customer_notes' THEN 'customers'
                           WHEN change.table_name IN ('job_notes', 'time_entries', 'job_charges')
                           THEN 'jobs' ELSE change.table_name END;
  names text := (SELECT string_agg(format('%1$I = (jsonb_populate_record(held, $2)).%1$I', key),
    ', ') FROM jsonb_object_keys(back) AS key
                  WHERE key IN (SELECT attname FROM pg_attribute
                    WHERE attrelid = format('warehouse.%I', change.table_name)::regclass));
  record_number bigint := change.number;
BEGIN
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  EXECUTE format('UPDATE warehouse.%I AS held SET %s _hash = NULL WHERE row_id = $1',
    change.table_name, coalesce(names || ',', ''))
    USING change.row_id, back;
  IF change.fields ? 'employee_ids' THEN
    UPDATE warehouse.job_employees
       SET _deleted_at = CASE WHEN change.base->'employee_ids' ? employee_id::text THEN NULL
         ELSE coalesce(_deleted_at, now()) END, _hash = NULL
     WHERE account_id = change.account_id
     AND (parent_row_id = change.row_id OR job_number = change.number) AND _pending;
  END IF;
  PERFORM set_config('fieldmirror.writer', writer, true);
  IF stream_name <> change.table_name THEN
    EXECUTE format('SELECT %I FROM warehouse.%I WHERE row_id = $1',
      CASE stream_name WHEN 'jobs' THEN 'job_number' ELSE 'customer_number' END, change.table_name)
       INTO record_number USING change.row_id;
  END IF;
  DELETE FROM sync.known_records WHERE account_id = change.account_id AND stream = stream_name
    AND number = record_number;
END
$$;
COMMENT ON FUNCTION sync.restore_row IS 'Writes what a change was made from back into its row.';
