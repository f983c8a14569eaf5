-- Refuses columns and values that an author may not give to a new row.
CREATE OR REPLACE FUNCTION sync.check_new_row(of_table text, row_json jsonb, key text,
  parent_number text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  zone text;
  given record;
BEGIN
  SELECT time_zone INTO zone FROM sync.accounts
  WHERE account_id = (row_json->>'account_id')::bigint;
  IF zone IS NULL THEN
    RAISE EXCEPTION 'warehouse.%.account_id: expected an account, got %', of_table,
      row_json->>'account_id' USING ERRCODE = 'foreign_key_violation';
  ELSIF row_json->'_pending' = 'false' THEN
    PERFORM sync.refuse_column(of_table, '_pending', 'the column is Fieldmirror''s own');
  ELSIF (row_json->>'row_id')::bigint > pg_sequence_last_value(pg_get_serial_sequence('warehouse.'
    || of_table, 'row_id')::regclass) THEN
    -- A row_id that the sequence has not given yet would make a later INSERT with that number fail,
    -- in any account.
    PERFORM sync.refuse_column(of_table, 'row_id',
      'expected it to be left out, for the warehouse counts its rows');
  END IF;
  FOR given IN
    SELECT cell.key AS name, cell.value, rule.kind, rule.on_create, rule.on_update
    FROM jsonb_each_text(row_json) AS cell
      LEFT JOIN sync.write_rules AS rule ON rule.table_name = of_table AND rule.field = cell.key
     WHERE cell.value IS NOT NULL AND cell.key NOT IN ('row_id', 'account_id', 'external_key',
       'parent_row_id', '_pending')
  LOOP
    IF given.on_create THEN
      PERFORM sync.check_value(of_table, given.name, given.kind, given.value, zone);
    ELSIF given.name IN ('_first_seen_at', '_changed_at') AND given.value::timestamptz = now()
       OR given.name = 'extra' AND given.value = '{}' OR given.name = parent_number THEN
      CONTINUE;
    ELSIF of_table = 'job_employees' AND given.name = 'employee_id' THEN
      PERFORM sync.check_value(of_table, given.name, 'integer', given.value, zone);
    ELSIF given.name = key THEN
      PERFORM sync.refuse_column(of_table, given.name, 'the service gives the number',
        'Leave it out; external_key holds a key of your own.');
    ELSIF left(given.name, 1) = '_' OR given.name = 'extra' THEN
      PERFORM sync.refuse_column(of_table, given.name, 'the column is Fieldmirror''s own');
    ELSIF NOT (given.on_create OR given.on_update) THEN
      PERFORM sync.refuse_column(of_table, given.name, 'a login is set with its password',
        'Once the employee has a number: fieldmirror employees login ACCOUNT NUMBER '
        '--username NAME.');
    ELSIF NOT given.on_create THEN
      PERFORM sync.refuse_column(of_table, given.name,
        'the service does not take it with a new record', 'Set it afterwards, by an UPDATE.');
    ELSE
      PERFORM sync.refuse_column(of_table, given.name, 'the service does not let it be written');
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.check_new_row IS 'Refuses what an author may not give to a new row.';

-- Records a create with all values that a row holds. A create that replaces a refused one also
-- takes the fields of the changes that waited for the refused one.
CREATE OR REPLACE FUNCTION sync.record_create(of_table text, row_json jsonb, of_parent bigint)
  RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  of_account bigint := (row_json->>'account_id')::bigint;
  of_row bigint := (row_json->>'row_id')::bigint;
  names text[] := ARRAY(SELECT field FROM sync.write_rules WHERE table_name = of_table
    AND on_create);
  fields jsonb := jsonb_strip_nulls(sync.as_texts(row_json, names));
  later sync.changes;
BEGIN
  IF of_table = 'jobs' THEN
    fields := fields || coalesce((SELECT jsonb_build_object('employee_ids', ids)
      FROM sync.assigned(of_account, of_row, NULL) AS ids WHERE ids <> '[]'), '{}');
  END IF;
  FOR later IN SELECT * FROM sync.changes WHERE table_name = of_table AND row_id = of_row
    AND is_open ORDER BY change_id FOR UPDATE LOOP
    IF later.fields - names = '{}' THEN
      UPDATE sync.changes SET state = 'cancelled', settled_at = now(),
        reason = 'the record is created with it' WHERE change_id = later.change_id;
      PERFORM sync.free_waiting(later.change_id);
    ELSE
      UPDATE sync.changes SET fields = later.fields - names WHERE change_id = later.change_id;
    END IF;
  END LOOP;
  PERFORM sync.record_change(of_account, of_table, of_row, 'create', NULL, fields, '{}', of_parent,
    row_json->>'external_key');
END
$$;
COMMENT ON FUNCTION sync.record_create
  IS 'Brings a row into sync.changes as a record to be created.';

-- Captures an INSERT by an author. The trigger runs after the statement, so that a row and its
-- parent may be inserted together.
CREATE OR REPLACE FUNCTION sync.capture_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  row_json jsonb := sync.tidy_row(TG_TABLE_NAME, to_jsonb(NEW));
  captured sync.captured_tables;
  given_number bigint;
  parent record;
  parent_row bigint;
  needed sync.write_rules;
BEGIN
  SELECT * INTO STRICT captured FROM sync.captured_tables WHERE table_name = TG_TABLE_NAME;
  given_number := (row_json->>captured.parent_number_column)::bigint;
  IF 'create' <> ALL (captured.operations) THEN
    RAISE EXCEPTION 'warehouse.%: the service cannot create one', TG_TABLE_NAME
      USING ERRCODE = 'integrity_constraint_violation', HINT = captured.hint;
  END IF;
  PERFORM sync.check_new_row(TG_TABLE_NAME, row_json, captured.key_column,
    captured.parent_number_column);
  IF captured.parent_table IS NOT NULL THEN
    -- The lock lasts until the end of the transaction: the parent cannot be deleted, and its create
    -- cannot be settled, before then.
    EXECUTE format('SELECT row_id, %1$I AS number, _deleted_at FROM warehouse.%2$I
                     WHERE account_id = $1 AND (row_id = $2 OR $2 IS NULL AND %1$I = $3) FOR KEY '
                       'SHARE', captured.parent_number_column, captured.parent_table)
       INTO parent USING NEW.account_id, NEW.parent_row_id, given_number;
    IF parent.row_id IS NULL OR parent._deleted_at IS NOT NULL OR given_number IS NOT NULL
      AND given_number IS DISTINCT FROM parent.number THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, captured.parent_number_column,
        format('expected one of the live %s of this account, got %s', captured.parent_table,
                                 coalesce(given_number::text, 'row ' || NEW.parent_row_id,
                                   'nothing')),
                                 format('Give the number of one, or its row_id in warehouse.%s as '
                                   'parent_row_id.', captured.parent_table));
    END IF;
    parent_row := parent.row_id;
  ELSIF NEW.parent_row_id IS NOT NULL THEN
    PERFORM sync.refuse_column(TG_TABLE_NAME, 'parent_row_id', 'the record hangs on no other');
  END IF;
  FOR needed IN SELECT * FROM sync.write_rules AS held WHERE held.table_name = TG_TABLE_NAME
    AND held.on_create ORDER BY held.field LOOP
    PERFORM sync.check_rule(needed, row_json->>needed.field);
  END LOOP;
  IF NEW._pending IS NULL THEN
    -- The statement gave NULL to every column that it does not know, so the default was not used.
    PERFORM set_config('fieldmirror.writer', 'sweep', true);
    EXECUTE format('UPDATE warehouse.%I SET _pending = true WHERE row_id = $1', TG_TABLE_NAME)
      USING NEW.row_id;
    PERFORM set_config('fieldmirror.writer', '', true);
  END IF;
  PERFORM sync.record_create(TG_TABLE_NAME, row_json, parent_row);
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.capture_insert IS 'Trigger: makes a change of an INSERT, or refuses it.';

-- Writes the tidy values of a new row into it: keep_wanted reads them from the recorded change.
-- This runs after the feed has its entry of the new row. It makes a later version with a separate
-- entry, so the author can read the value as it was stored.
CREATE OR REPLACE FUNCTION sync.tidy_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
BEGIN
  IF sync.tidy_row(TG_TABLE_NAME, to_jsonb(NEW)) <> to_jsonb(NEW) THEN
    PERFORM set_config('fieldmirror.writer', 'sweep', true);
    EXECUTE format('UPDATE warehouse.%I SET _pending = true WHERE row_id = $1 AND _pending',
      TG_TABLE_NAME) USING NEW.row_id;
    PERFORM set_config('fieldmirror.writer', '', true);
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.tidy_insert IS 'Trigger: writes the tidy values of a new row into it.';
