-- The name that an author gave to its transaction, by SET LOCAL fieldmirror.batch = 'import 4711'.
-- It is text for people and filters: no right depends on it. The length limit is that of the
-- column.
CREATE OR REPLACE FUNCTION sync.batch() RETURNS text
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text := nullif(btrim(current_setting('fieldmirror.batch', true)), '');
BEGIN
  IF length(name) > 200 OR name ~ '[[:cntrl:]]' THEN
    RAISE EXCEPTION 'fieldmirror.batch: expected a name of at most 200 characters, none of them a '
      'control character, got % characters', length(name)
      USING ERRCODE = 'invalid_parameter_value',
        HINT = 'RESET fieldmirror.batch makes changes without a name.';
  END IF;
  RETURN name;
END
$$;
COMMENT ON FUNCTION sync.batch IS 'The name of the transaction, as fieldmirror.batch says; null '
  'where it has none.';

-- Whether two values of a field are equal, however they are written. @param kind - of the field:
-- sync.write_rules
CREATE OR REPLACE FUNCTION sync.is_equal(kind text, one jsonb, other jsonb) RETURNS boolean
  LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT CASE
    WHEN kind = 'ids' THEN one @> other AND one <@ other
    WHEN one #>> '{}' IS NULL OR other #>> '{}' IS NULL
    THEN (one #>> '{}') IS NOT DISTINCT FROM (other #>> '{}')
    WHEN kind = 'instant' THEN (one #>> '{}')::timestamptz = (other #>> '{}')::timestamptz
    WHEN kind IN ('integer', 'decimal') THEN (one #>> '{}')::numeric = (other #>> '{}')::numeric
    WHEN kind = 'boolean' THEN (one #>> '{}')::boolean = (other #>> '{}')::boolean
    ELSE one #>> '{}' = other #>> '{}' END
$$;
COMMENT ON FUNCTION sync.is_equal IS
  'Whether two values of a field are equal, however they are written.';

-- An earlier form trusted the setting alone.
DROP FUNCTION IF EXISTS sync.undoing();

-- The change that an edit takes back. sync.undo_changes names it by a setting, which any author can
-- set as well. So the setting counts only if the edit really takes the change back. The edit must
-- delete the record that the change created, or write only what the fields of the change held
-- before it. Assignments are written one by one. For them it is enough that the list is between the
-- two lists.
CREATE OR REPLACE FUNCTION sync.undoing(of_table text, of_row bigint, of_operation text,
  edited jsonb) RETURNS bigint[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY[undone.change_id] FROM sync.changes AS undone
   WHERE undone.change_id = CASE WHEN current_setting('fieldmirror.undoes', true) ~
     '^[1-9][0-9]{0,17}$' THEN current_setting('fieldmirror.undoes')::bigint END
     AND undone.table_name = of_table AND undone.row_id = of_row AND undone.state = 'done'
     AND CASE undone.operation
         WHEN 'create' THEN of_operation = 'delete'
         WHEN 'update' THEN of_operation = 'update' AND NOT EXISTS (
           SELECT FROM jsonb_each(edited) AS cell JOIN sync.write_rules AS rule
           ON rule.table_name = of_table AND rule.field = cell.key
            WHERE NOT undone.fields ? cell.key OR NOT CASE rule.kind
                  WHEN 'ids' THEN cell.value <@ ((undone.fields->cell.key)
                    || (undone.base->cell.key)) AND NOT EXISTS (
                    SELECT FROM jsonb_array_elements_text(undone.fields->cell.key) AS id
                    WHERE undone.base->cell.key ? id AND NOT cell.value ? id)
                  ELSE sync.is_equal(rule.kind, cell.value, undone.base->cell.key) END)
         ELSE false END
$$;
COMMENT ON FUNCTION sync.undoing IS
  'The change that an edit takes back; null where it takes none back.';
