-- The name that an author gave to its transaction, by SET LOCAL fieldmirror.batch = 'import 4711'. It is text for people and
-- filters: no right rests on it. The bound is that of the column.
CREATE OR REPLACE FUNCTION sync.batch() RETURNS text LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text := nullif(btrim(current_setting('fieldmirror.batch', true)), '');
BEGIN
  IF length(name) > 200 OR name ~ '[[:cntrl:]]' THEN
    RAISE EXCEPTION 'fieldmirror.batch: expected a name of at most 200 characters, none of them a control character, got % characters', length(name)
      USING ERRCODE = 'invalid_parameter_value', HINT = 'RESET fieldmirror.batch makes changes without a name.';
  END IF;
  RETURN name;
END
$$;
COMMENT ON FUNCTION sync.batch IS 'The name of the transaction, as fieldmirror.batch says; null where it has none.';

-- The change that sync.undo_changes takes back just now. An author may set it as well: the change then says so, asks a person
-- where the service was edited, and has no other right.
CREATE OR REPLACE FUNCTION sync.undoing() RETURNS bigint[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN current_setting('fieldmirror.undoes', true) ~ '^[1-9][0-9]{0,17}$' THEN ARRAY[current_setting('fieldmirror.undoes')::bigint] END
$$;
COMMENT ON FUNCTION sync.undoing IS 'The change that is being taken back; null where none is.';
