-- Keys of rows in outside systems. The keys of the system `default` are in the column external_key;
-- sync.links has those of all other systems. The functions run as the owner, because no other role
-- writes the table. An author can use only its own accounts and its own system.

CREATE OR REPLACE FUNCTION sync.check_table(of_table text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM sync.captured_tables WHERE table_name = of_table) THEN
    RAISE EXCEPTION 'table: expected one of warehouse, got %',
      coalesce(quote_literal(left(of_table, 60)), 'nothing')
      USING ERRCODE = 'invalid_parameter_value',
        HINT = format('There are %s.', (SELECT string_agg(table_name, ', ' ORDER BY table_name)
        FROM sync.captured_tables));
  END IF;
END
$$;
COMMENT ON FUNCTION sync.check_table IS 'Refuses what is no table of warehouse.';

-- A row of the caller's accounts, as JSON. The lock lasts until the end of the transaction: two
-- keys are not set for one row at once, and the row is not removed before then.
CREATE OR REPLACE FUNCTION sync.row_to_link(of_table text, of_row bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held jsonb;
BEGIN
  PERFORM sync.check_table(of_table);
  EXECUTE format('SELECT to_jsonb(held) FROM warehouse.%I AS held WHERE row_id = $1
    AND account_id = ANY ($2) FOR NO KEY UPDATE', of_table)
    INTO held USING of_row, sync.accounts_of(sync.caller());
  IF held IS NULL THEN
    RAISE EXCEPTION 'warehouse.%: expected the row_id of a row of your accounts, got %', of_table,
      coalesce(of_row::text, 'nothing')
      USING ERRCODE = 'no_data_found',
        HINT = 'A row_id is not the number of the record: read it from the row.';
  END IF;
  RETURN held;
END
$$;
COMMENT ON FUNCTION sync.row_to_link IS 'A row of the caller''s accounts, locked, as JSON.';

-- The row that a system knows by a key; null if there is none.
CREATE OR REPLACE FUNCTION sync.linked_row(of_account bigint, of_table text, key text,
  of_system text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  found bigint;
BEGIN
  IF of_system = 'default' THEN
    EXECUTE format('SELECT row_id FROM warehouse.%I WHERE account_id = $1 AND external_key = $2',
      of_table) INTO found USING of_account, key;
    RETURN found;
  END IF;
  RETURN (SELECT link.row_id FROM sync.links AS link WHERE link.account_id = of_account
    AND link.table_name = of_table AND link.system = of_system AND link.key = key
    AND link.until IS NULL);
END
$$;
COMMENT ON FUNCTION sync.linked_row IS 'The row that a system knows by a key; null for none.';

-- Finds the row that a system knows by a key.
-- @param of_account - null: the only account of the caller; @param of_system - null: its own
-- @returns its row_id; null if there is none
CREATE OR REPLACE FUNCTION sync.find_link(of_table text, key text, of_account bigint DEFAULT NULL,
  of_system text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint[] := sync.accounts_of(sync.caller());
  wanted bigint := coalesce(of_account, CASE cardinality(own) WHEN 1 THEN own[1] END);
BEGIN
  PERFORM sync.check_table(of_table);
  IF wanted IS NULL OR wanted <> ALL (own) THEN
    RAISE EXCEPTION 'account: expected one of your accounts, %, got %', array_to_string(own, ', '),
      coalesce(of_account::text, 'nothing')
      USING ERRCODE = 'invalid_parameter_value', HINT = 'Give its account_id as of_account.';
  END IF;
  RETURN sync.linked_row(wanted, of_table, key, sync.meant_system(wanted, of_system));
END
$$;
COMMENT ON FUNCTION sync.find_link
  IS 'The row_id of the row that your system, or a named one, knows by a key; null for none.';

-- Sets the key of a row, in place of the one that it had in that system. The same key again changes
-- nothing.
-- @param of_system - null: the caller's own @returns whether it was set
CREATE OR REPLACE FUNCTION sync.set_link(of_table text, of_row bigint, key text,
  of_system text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held jsonb := sync.row_to_link(of_table, of_row);
  account bigint := held->>'account_id';
  wanted text := sync.meant_system(account, of_system);
  holder bigint;
BEGIN
  IF key IS NULL OR length(key) NOT BETWEEN 1 AND 200 THEN
    RAISE EXCEPTION 'key: expected 1 to 200 characters, got %', coalesce(length(key)::text, 'none')
      USING ERRCODE = 'invalid_parameter_value',
        HINT = 'sync.remove_link removes a key.';
  ELSIF sync.is_of_forgotten(of_table, held) THEN
    RAISE EXCEPTION 'warehouse.%, row %: the customer of this row was forgotten, so that it takes '
      'no key', of_table, of_row USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  holder := sync.linked_row(account, of_table, key, wanted);
  IF holder = of_row THEN
    RETURN false;
  ELSIF holder IS NOT NULL THEN
    RAISE EXCEPTION 'key: expected one that no other of the % of account % has in system %, got '
      'that of row %', of_table, (SELECT name FROM sync.accounts WHERE account_id = account),
      wanted, holder
      USING ERRCODE = 'unique_violation', COLUMN = 'external_key',
        HINT = 'Remove it there first: sync.remove_link.';
  END IF;
  PERFORM sync.write_link(of_table, held, wanted, key);
  RETURN true;
END
$$;
COMMENT ON FUNCTION sync.set_link
  IS 'Sets the key by which your system, or a named one, knows a row; gives whether it was new.';

-- Removes the key of a row. @param of_system - null: the caller's own @returns whether it had one
CREATE OR REPLACE FUNCTION sync.remove_link(of_table text, of_row bigint,
  of_system text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held jsonb := sync.row_to_link(of_table, of_row);
BEGIN
  RETURN sync.write_link(of_table, held,
    sync.meant_system((held->>'account_id')::bigint, of_system), NULL);
END
$$;
COMMENT ON FUNCTION sync.remove_link
  IS 'Removes the key by which your system, or a named one, knows a row; gives whether it had one.';

-- The column external_key is written as an author writes it, whatever the caller has set: its
-- version and its entry in the feed name the caller. A key that is removed from a deleted row ends
-- after the deletion, so the entry of the deletion still names it.
CREATE OR REPLACE FUNCTION sync.write_link(of_table text, held jsonb, of_system text, key text)
  RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  of_row bigint := held->>'row_id';
  writer_before text := coalesce(current_setting('fieldmirror.writer', true), '');
  ended timestamptz := CASE WHEN held->>'_deleted_at' IS NOT NULL
    THEN (held->>'_changed_at')::timestamptz + interval '1 microsecond' END;
  had boolean;
BEGIN
  IF of_system = 'default' THEN
    PERFORM set_config('fieldmirror.writer', '', true);
    EXECUTE format('UPDATE warehouse.%I SET external_key = $2 WHERE row_id = $1
      AND external_key IS DISTINCT FROM $2', of_table) USING of_row, key;
    PERFORM set_config('fieldmirror.writer', writer_before, true);
    RETURN held->>'external_key' IS NOT NULL;
  END IF;
  UPDATE sync.links AS link SET until = greatest(now(), since, ended)
   WHERE link.row_id = of_row AND link.table_name = of_table AND link.system = of_system
     AND link.until IS NULL;
  had := FOUND;
  IF key IS NOT NULL THEN
    INSERT INTO sync.links (system, account_id, table_name, key, row_id, linked_by)
    VALUES (of_system, (held->>'account_id')::bigint, of_table, key, of_row,
      sync.writer_of(session_user, sync.application()));
  END IF;
  RETURN had;
END
$$;
COMMENT ON FUNCTION sync.write_link
  IS 'Writes the key of a row in a system, or removes it; gives whether there was another before.';
