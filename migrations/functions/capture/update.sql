-- Captures an UPDATE by an author; Postgres has locked the row before.
CREATE OR REPLACE FUNCTION sync.capture_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  was jsonb := to_jsonb(OLD);
  now_json jsonb := to_jsonb(NEW);
  number bigint;
  told record;
  cell record;
  names text[] := '{}';
  groups text[] := '{}';
  hint text;
  tidy jsonb;
  tidied jsonb := '{}';
  seen jsonb := sync.seen_row(TG_TABLE_NAME, was);
  based text[];
  -- NULL in one of Fieldmirror's own columns is no edit: an ORM that saves a whole row writes NULL
  -- into each column that it does not know.
  kept jsonb := (
    SELECT jsonb_object_agg(held.key, was->held.key) FROM jsonb_each(now_json) AS held
     WHERE held.value = 'null' AND was->held.key <> 'null'
       AND (left(held.key, 1) = '_' AND held.key <> '_deleted_at'
         OR held.key IN ('account_id', 'parent_row_id', 'extra')));
BEGIN
  IF kept IS NOT NULL THEN
    NEW := jsonb_populate_record(NEW, kept);
    now_json := now_json || kept;
  END IF;
  -- One query reads the rules of the table and the time zone: it runs for every row.
  SELECT captured.key_column, captured.operations, captured.hint, accounts.time_zone
  INTO STRICT told
    FROM sync.captured_tables AS captured LEFT JOIN sync.accounts ON account_id = OLD.account_id
    WHERE captured.table_name = TG_TABLE_NAME;
  number := (was->>told.key_column)::bigint;
  hint := CASE WHEN 'update' = ANY (told.operations) THEN '' ELSE told.hint END;
  FOR cell IN
    SELECT held.key AS name, rule.* FROM jsonb_each(now_json) AS held
      LEFT JOIN sync.write_rules AS rule ON rule.table_name = TG_TABLE_NAME
      AND rule.field = held.key
     WHERE held.value IS DISTINCT FROM was->held.key AND held.key <> 'external_key'
  LOOP
    IF cell.on_update OR cell.on_create AND number IS NULL THEN
      tidy := sync.tidy_value(cell.kind, now_json->cell.name);
      IF tidy <> now_json->cell.name THEN
        -- An equal value that is already in the row keeps its digits: 0.3 and 0.30 are equal.
        tidied := tidied || jsonb_build_object(cell.name,
          CASE tidy WHEN was->cell.name THEN was->cell.name ELSE tidy END);
        now_json := now_json || tidied;
        CONTINUE WHEN tidy = was->cell.name;
      END IF;
      IF seen IS NOT NULL AND sync.is_equal(cell.kind, now_json->cell.name, seen->cell.name)
        AND NOT sync.is_equal(cell.kind, was->cell.name, seen->cell.name) THEN
        -- The author wants only the value that it had seen, so the newer value of another writer
        -- stays.
        tidied := tidied || jsonb_build_object(cell.name, was->cell.name);
        now_json := now_json || tidied;
        CONTINUE;
      END IF;
      PERFORM sync.check_value(TG_TABLE_NAME, cell.name, cell.kind, now_json->>cell.name,
        told.time_zone);
      PERFORM sync.check_rule(needed, now_json->>cell.name) FROM sync.write_rules AS needed
        WHERE needed.table_name = TG_TABLE_NAME AND needed.field = cell.name;
      names := names || cell.name;
      groups := groups || cell.field_group;
    ELSIF cell.name = '_deleted_at' THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'the column is Fieldmirror''s own',
                                 'DELETE the row to delete the record at the service; '
                                   'sync.cancel_change takes back what was not sent.');
    ELSIF left(cell.name, 1) = '_' OR cell.name IN ('row_id', 'account_id', 'parent_row_id',
      'extra') THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'the column is Fieldmirror''s own');
    ELSIF NOT (cell.on_create OR cell.on_update) THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'a login is set with its password',
        'fieldmirror employees login ACCOUNT NUMBER --username NAME sets it.');
    ELSIF cell.on_create THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name,
        'the service cannot change it once the record is there', hint);
    ELSE
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'the service does not let it be written',
        hint);
    END IF;
  END LOOP;
  IF tidied <> '{}' THEN
    NEW := jsonb_populate_record(NEW, tidied);
  END IF;
  IF names = '{}' THEN
    RETURN NEW;
  ELSIF OLD._deleted_at IS NOT NULL THEN
    RAISE EXCEPTION 'warehouse.%, row %: the record is deleted', TG_TABLE_NAME, OLD.row_id
      USING ERRCODE = 'integrity_constraint_violation',
        HINT = 'Its key alone can be given up, for another row: SET external_key = NULL, or '
        'sync.remove_link.';
  END IF;
  IF number IS NULL AND sync.lacks_create(TG_TABLE_NAME, OLD.row_id) THEN
    -- The row's create was refused: the corrected row is a new create, under the parent of the
    -- refused one.
    PERFORM sync.record_create(TG_TABLE_NAME, now_json,
      coalesce(sync.parent_of(TG_TABLE_NAME, OLD.row_id), OLD.parent_row_id));
  ELSE
    based := ARRAY(SELECT field FROM sync.write_rules WHERE table_name = TG_TABLE_NAME
      AND (field = ANY (names) OR field_group = ANY (groups)));
    PERFORM sync.record_change(
      OLD.account_id, TG_TABLE_NAME, OLD.row_id, 'update', number, sync.as_texts(now_json, names),
      sync.as_texts(was, based), NULL, NEW.external_key,
      sync.unseen(TG_TABLE_NAME, seen, was, based));
  END IF;
  NEW._pending := CASE WHEN EXISTS (SELECT FROM sync.changes WHERE table_name = TG_TABLE_NAME
    AND row_id = OLD.row_id AND is_open) THEN true END;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.capture_update IS 'Trigger: makes a change of an UPDATE, or refuses it.';
