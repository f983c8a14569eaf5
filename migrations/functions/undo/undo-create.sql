-- Takes back a create by a DELETE. The service must let the record be deleted, and nobody may have
-- changed it since. Only records that are taken back with it may belong to it. Returns the reason
-- if it is not possible, else null.
CREATE OR REPLACE FUNCTION sync.undo_create(change sync.changes, together bigint[]) RETURNS text
  LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  captured sync.captured_tables;
  child record;
  hanging bigint;
  is_live boolean;
  since text[];
BEGIN
  SELECT * INTO STRICT captured FROM sync.captured_tables WHERE table_name = change.table_name;
  IF 'delete' <> ALL (captured.operations) THEN
    RETURN format('change %s: the service cannot delete one of the %s%s', change.change_id,
      change.table_name, coalesce('; ' || nullif(captured.hint, ''), ''));
  END IF;
  EXECUTE format('SELECT _deleted_at IS NULL FROM warehouse.%I WHERE row_id = $1',
    change.table_name) INTO is_live USING change.row_id;
  IF is_live IS NOT TRUE THEN
    RETURN format('change %s: its record is deleted already', change.change_id);
  END IF;
  FOR child IN SELECT table_name, parent_number_column FROM sync.captured_tables
    WHERE parent_table = change.table_name AND table_name <> 'job_employees'
    ORDER BY table_name LOOP
    EXECUTE format(
      'SELECT count(*) FROM warehouse.%I AS held WHERE account_id = $1 AND (parent_row_id = $2 OR '
        '%I = $3) AND _deleted_at IS NULL
          AND NOT EXISTS (SELECT FROM sync.changes AS made WHERE made.table_name = %L AND '
            'made.row_id = held.row_id AND made.operation = ''create'' AND made.change_id = ANY '
            '($4))',
      child.table_name, child.parent_number_column, child.table_name) INTO hanging
        USING change.account_id, change.row_id, change.number, together;
    IF hanging > 0 THEN
      RETURN format('change %s: %s of the %s hang on its record', change.change_id, hanging,
        child.table_name);
    END IF;
  END LOOP;
  since := sync.changed_since_made(change.change_id);
  IF since <> '{}' THEN
    RETURN format('change %s: %s changed since', change.change_id, array_to_string(since, ', '));
  END IF;
  EXECUTE format('DELETE FROM warehouse.%I WHERE row_id = $1', change.table_name)
    USING change.row_id;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.undo_create
  IS 'Takes back a create by a DELETE of its row, or says why not.';

-- The fields of a record, of those that can be written, that differ from the version which its
-- create left. The function runs as the owner, because an author does not read history. It returns
-- only names, and only of the accounts of the caller.
CREATE OR REPLACE FUNCTION sync.changed_since_made(wanted bigint) RETURNS text[]
  LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes;
  held jsonb;
  made jsonb;
BEGIN
  SELECT * INTO change FROM sync.changes
  WHERE change_id = wanted AND account_id = ANY (sync.accounts_of(sync.caller()));
  IF change.change_id IS NULL THEN
    RAISE EXCEPTION 'change %: no change has that number', wanted
      USING ERRCODE = 'no_data_found',
            HINT = 'Check the number, and that your role is bound to the account of the change.';
  END IF;
  EXECUTE format('SELECT to_jsonb(held) FROM warehouse.%I AS held WHERE row_id = $1',
    change.table_name) INTO held USING change.row_id;
  IF (held->>'_change_id')::bigint = wanted THEN
    RETURN '{}';
  END IF;
  EXECUTE format('SELECT to_jsonb(past) FROM history.%I AS past WHERE row_id = $1 AND _change_id = '
    '$2 ORDER BY _changed_at DESC LIMIT 1', 'past_' || change.table_name)
     INTO made USING change.row_id, wanted;
  RETURN ARRAY(SELECT field FROM sync.write_rules
                WHERE table_name = change.table_name AND held ? field
                AND field <> 'username'
                  AND CASE WHEN made IS NULL THEN change.fields ? field
                    AND NOT sync.is_as_left(change, field, kind, held)
                           ELSE held->field IS DISTINCT FROM made->field END
                ORDER BY field);
END
$$;
COMMENT ON FUNCTION sync.changed_since_made
  IS 'The names of the fields of a created record that somebody changed since.';
