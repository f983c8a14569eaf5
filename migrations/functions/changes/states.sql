-- The last change that a statement of this session made, for sync.wait; null before the first.
CREATE OR REPLACE FUNCTION sync.last_change() RETURNS bigint LANGUAGE sql STABLE
RETURN nullif(current_setting('fieldmirror.last_change', true), '')::bigint;
COMMENT ON FUNCTION sync.last_change
  IS 'The last change that a statement of this session made; null before the first.';

CREATE OR REPLACE FUNCTION sync.fingerprint(of_account bigint, of_table text, of_parent bigint,
  fields jsonb) RETURNS bytea LANGUAGE sql STABLE
RETURN sha256(convert_to(concat_ws('/', of_account, of_table, of_parent, fields), 'UTF8'));
COMMENT ON FUNCTION sync.fingerprint IS 'Hash of the content of a create and of what it hangs on.';

-- Frees the changes that waited for a change. They then wait for the change that the freed one
-- waited for, if any.
CREATE OR REPLACE FUNCTION sync.free_waiting(settled bigint) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE sync.changes SET waits_for = (SELECT earlier.waits_for FROM sync.changes AS earlier
    WHERE earlier.change_id = settled)
   WHERE waits_for = settled
$$;
COMMENT ON FUNCTION sync.free_waiting IS 'Frees what waited for a change.';

-- Whether the create of a row without a number was refused: no open create will give the row a
-- number.
CREATE OR REPLACE FUNCTION sync.lacks_create(of_table text, of_row bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT NOT EXISTS (SELECT FROM sync.changes WHERE table_name = of_table AND row_id = of_row
    AND operation = 'create' AND is_open)
$$;
COMMENT ON FUNCTION sync.lacks_create
  IS 'Whether no open change would create the record of a row without a number.';

-- The parent row of a row whose creates were refused.
CREATE OR REPLACE FUNCTION sync.parent_of(of_table text, of_row bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT parent_row_id FROM sync.changes WHERE table_name = of_table AND row_id = of_row
  AND operation = 'create' ORDER BY change_id DESC LIMIT 1
$$;
COMMENT ON FUNCTION sync.parent_of IS 'The row that the last create of a row hangs on.';
