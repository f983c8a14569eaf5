-- Edits of warehouse rows become rows of sync.changes in the same transaction, unless a worker
-- writes records of the service. A row shows the wanted values while its change is on its way. A
-- trigger writes the values of a sweep around the fields under change, so no sweep can overwrite
-- these fields, however it is timed. Locks are taken in one order everywhere: the warehouse row
-- before its changes, a parent before its children.

CREATE OR REPLACE FUNCTION sync.refuse_truncate() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'warehouse.%: TRUNCATE would delete every record at the service', TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation',
      HINT = 'DELETE the rows you mean, or SET fieldmirror.writer = ''repair'' to empty the table '
      'here only.';
END
$$;
COMMENT ON FUNCTION sync.refuse_truncate IS 'Trigger: refuses TRUNCATE.';

-- Makes the triggers of one warehouse table. Every trigger checks for each row who is writing. The
-- setting alone decides nothing: an expression inside a statement can set it after any check that
-- comes before the rows. A BEFORE trigger for each inserted row would stop COPY from writing many
-- rows at once. A new row is therefore pending by the column's default; only assignments cannot do
-- without such a trigger.
CREATE OR REPLACE FUNCTION sync.capture(of_table text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  target text := format('warehouse.%I', of_table);
  writer text := 'coalesce(current_setting(''fieldmirror.writer'', true), '''')';
  is_worker text := 'has_function_privilege(''sync.write_as_worker()''::regprocedure, ''EXECUTE'')';
  -- The cheaper check comes first: a row that a sweep writes needs both, any other row only one.
  is_author text := format('(%s = '''' OR NOT %s)', writer, is_worker);
  is_sweep text := format('(%s = ''sweep'' AND %s)', writer, is_worker);
  is_link boolean := of_table = 'job_employees';
  is_timed text;
  is_retimed text;
BEGIN
  EXECUTE format('ALTER TABLE %s ALTER COLUMN account_id SET DEFAULT sync.only_account(),
    ALTER COLUMN _pending SET DEFAULT nullif(%s = '''', false)', target, writer);
  EXECUTE format('CREATE OR REPLACE TRIGGER a_check_writer BEFORE INSERT OR UPDATE OR DELETE ON %s '
    'FOR EACH STATEMENT
    WHEN (%s <> '''') EXECUTE FUNCTION sync.check_writer()', target, writer);
  IF is_link THEN
    EXECUTE format('CREATE OR REPLACE TRIGGER complete_assignment BEFORE INSERT ON %s FOR EACH ROW
      WHEN (%s) EXECUTE FUNCTION sync.complete_assignment()', target, is_author);
  END IF;
  -- record_insert sorts after history_insert by its name: the values that it writes into the new
  -- row are a later version.
  EXECUTE format('CREATE OR REPLACE TRIGGER record_insert AFTER INSERT ON %s FOR EACH ROW
    WHEN (%s) EXECUTE FUNCTION sync.%I()', target, is_author,
      CASE WHEN is_link THEN 'capture_assign' ELSE 'capture_insert' END);
  SELECT string_agg(format('NEW.%I IS NOT NULL', attname), ' OR '),
    string_agg(format('NEW.%1$I IS DISTINCT FROM OLD.%1$I', attname), ' OR ')
    INTO is_timed, is_retimed
    FROM pg_attribute WHERE attrelid = target::regclass AND atttypid = 'timestamptz'::regtype
    AND NOT attisdropped AND left(attname, 1) <> '_';
  IF is_timed IS NOT NULL THEN
    -- check_zone sorts after capture_update by its name: by then, values that are no change have
    -- been replaced by the former ones.
    EXECUTE format('CREATE OR REPLACE TRIGGER check_zone_insert AFTER INSERT ON %s FOR EACH ROW
      WHEN (%s AND (%s)) EXECUTE FUNCTION sync.check_zone()', target, is_author, is_timed);
    EXECUTE format('CREATE OR REPLACE TRIGGER check_zone_update BEFORE UPDATE ON %s FOR EACH ROW
      WHEN (%s AND (%s)) EXECUTE FUNCTION sync.check_zone()', target, is_author, is_retimed);
  END IF;
  IF NOT is_link THEN
    -- tidy_insert sorts after tell_created by its name.
    EXECUTE format('CREATE OR REPLACE TRIGGER tidy_insert AFTER INSERT ON %s FOR EACH ROW
      WHEN (%s) EXECUTE FUNCTION sync.tidy_insert()', target, is_author);
  END IF;
  EXECUTE format('CREATE OR REPLACE TRIGGER check_key_insert AFTER INSERT ON %s FOR EACH ROW
    WHEN (NEW.external_key IS NOT NULL AND %s) EXECUTE FUNCTION sync.check_external_key()', target,
      is_author);
  EXECUTE format('CREATE OR REPLACE TRIGGER check_key_update BEFORE UPDATE ON %s FOR EACH ROW
    WHEN (NEW.external_key IS DISTINCT FROM OLD.external_key AND %s)
    EXECUTE FUNCTION sync.check_external_key()', target, is_author);
  EXECUTE format('CREATE OR REPLACE TRIGGER capture_update BEFORE UPDATE ON %s FOR EACH ROW
    WHEN (%s) EXECUTE FUNCTION sync.capture_update()', target, is_author);
  EXECUTE format('CREATE OR REPLACE TRIGGER capture_delete AFTER DELETE ON %s FOR EACH ROW
    WHEN (%s) EXECUTE FUNCTION sync.%I()', target, is_author,
      CASE WHEN is_link THEN 'capture_unassign' ELSE 'capture_delete' END);
  EXECUTE format('CREATE OR REPLACE TRIGGER capture_truncate BEFORE TRUNCATE ON %s FOR EACH '
    'STATEMENT
    WHEN (%s NOT IN (''sweep'', ''repair'') OR NOT %s) EXECUTE FUNCTION sync.refuse_truncate()',
      target, writer, is_worker);
  EXECUTE format('CREATE OR REPLACE TRIGGER keep_tombstone BEFORE DELETE ON %s FOR EACH ROW
    WHEN (OLD._deleted_at IS NOT NULL AND %s) EXECUTE FUNCTION sync.keep_tombstone()', target,
      is_author);
  EXECUTE format('CREATE OR REPLACE TRIGGER keep_wanted BEFORE UPDATE ON %s FOR EACH ROW
    WHEN (OLD._pending AND %s) EXECUTE FUNCTION sync.keep_wanted()', target, is_sweep);
  EXECUTE format('CREATE OR REPLACE TRIGGER refuse_accounts_update AFTER UPDATE ON %s REFERENCING '
    'OLD TABLE AS touched FOR EACH STATEMENT
    WHEN (%s) EXECUTE FUNCTION sync.refuse_several_accounts()', target, is_author);
  EXECUTE format('CREATE OR REPLACE TRIGGER refuse_accounts_delete AFTER DELETE ON %s REFERENCING '
    'OLD TABLE AS touched FOR EACH STATEMENT
    WHEN (%s) EXECUTE FUNCTION sync.refuse_several_accounts()', target, is_author);
END
$$;
COMMENT ON FUNCTION sync.capture IS 'Makes the triggers that capture one warehouse table.';
