-- The values that the open changes of a row want for its columns. A later change replaces the
-- values of an earlier one. Null if no change is open.
CREATE OR REPLACE FUNCTION sync.wanted_columns(of_table text, of_row bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted jsonb;
  change record;
BEGIN
  FOR change IN
    SELECT operation, fields - 'employee_ids' AS fields, requested_at FROM sync.changes
     WHERE table_name = of_table AND row_id = of_row AND is_open ORDER BY change_id
  LOOP
    wanted := coalesce(wanted, '{}') || CASE change.operation
      WHEN 'delete' THEN jsonb_build_object('_deleted_at', change.requested_at)
      ELSE change.fields END;
  END LOOP;
  RETURN wanted;
END
$$;
COMMENT ON FUNCTION sync.wanted_columns
  IS 'What open changes want of the columns of a row; null when nothing.';

-- The same for an assignment: whether the open changes of its job want it.
CREATE OR REPLACE FUNCTION sync.wanted_assignment(of_account bigint, of_job bigint,
  of_job_row bigint, of_employee bigint, gone_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('_deleted_at',
    CASE WHEN fields->'employee_ids' ? of_employee::text THEN NULL
                                                ELSE coalesce(gone_at, requested_at) END)
    FROM sync.changes
   WHERE table_name = 'jobs' AND fields ? 'employee_ids'
     AND row_id = coalesce(of_job_row, (SELECT row_id FROM warehouse.jobs
       WHERE account_id = of_account AND job_number = of_job))
     AND is_open
   ORDER BY change_id DESC LIMIT 1
$$;
COMMENT ON FUNCTION sync.wanted_assignment
  IS 'Whether the open changes of a job want an assignment to live; null when they say nothing.';

-- The values that open changes want for the given row; null if no change is open.
CREATE OR REPLACE FUNCTION sync.wanted(of_table text, held jsonb) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE of_table
    WHEN 'job_employees' THEN sync.wanted_assignment((held->>'account_id')::bigint,
      (held->>'job_number')::bigint,
      (held->>'parent_row_id')::bigint, (held->>'employee_id')::bigint,
        (held->>'_deleted_at')::timestamptz)
    ELSE sync.wanted_columns(of_table, (held->>'row_id')::bigint) END
$$;
COMMENT ON FUNCTION sync.wanted IS 'What open changes want of a row; null when nothing.';

-- Keeps the values that open changes want when a worker writes a record of the service over their
-- row.
CREATE OR REPLACE FUNCTION sync.keep_wanted() RETURNS trigger
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted jsonb := sync.wanted(TG_TABLE_NAME, to_jsonb(OLD));
BEGIN
  -- An assignment that has not been sent to the service is missing from the service's list. That
  -- proves nothing.
  IF TG_TABLE_NAME = 'job_employees' AND NEW._deleted_at IS NOT NULL
    AND wanted->'_deleted_at' = 'null' AND OLD._deleted_at IS NULL THEN
    RETURN NULL;
  END IF;
  NEW := jsonb_populate_record(NEW, coalesce(wanted, '{}'));
  NEW._pending := CASE WHEN wanted IS NOT NULL THEN true END;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.keep_wanted
  IS 'Trigger: keeps what open changes want of a row that a sweep writes.';

-- A DELETE of a row that is marked deleted is ignored: the delete is sent once, and the row stays
-- as a record of the deleted one. If changes of the row are still to be sent, the DELETE gives them
-- up (capture_delete).
CREATE OR REPLACE FUNCTION sync.keep_tombstone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE WHEN OLD._pending AND sync.wanted(TG_TABLE_NAME, to_jsonb(OLD))->>'_deleted_at'
    IS NULL THEN OLD END;
END
$$;
COMMENT ON FUNCTION sync.keep_tombstone
  IS 'Trigger: passes over the DELETE of a row that is deleted or being deleted.';
