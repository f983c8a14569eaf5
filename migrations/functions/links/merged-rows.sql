-- If a record was merged into another one, moves the keys of its row to the row of the other
-- record, system by system. If the other row already has a key of that system, the key stays. Two
-- records of an outside system are then one here, and only a person in that system can decide which
-- stays. The keys end after the entry that the row was removed, so that the entry names them.
CREATE OR REPLACE FUNCTION sync.move_links(of_account bigint, of_table text, from_row bigint,
  to_row bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  moved record;
  moved_key text;
  ended timestamptz;
BEGIN
  EXECUTE format('SELECT _changed_at + interval ''1 microsecond'' FROM warehouse.%I
    WHERE row_id = $1', of_table) INTO ended USING from_row;
  FOR moved IN
    UPDATE sync.links AS link SET until = greatest(now(), link.since, ended)
     WHERE link.account_id = of_account AND link.table_name = of_table AND link.row_id = from_row
       AND link.until IS NULL
       AND NOT EXISTS (SELECT FROM sync.links AS own WHERE own.table_name = of_table
         AND own.row_id = to_row AND own.system = link.system AND own.until IS NULL)
    RETURNING link.system, link.key
  LOOP
    INSERT INTO sync.links (system, account_id, table_name, key, row_id, linked_by)
    VALUES (moved.system, of_account, of_table, moved.key, to_row,
      sync.writer_of(session_user, sync.application()));
  END LOOP;
  EXECUTE format('SELECT gone.external_key FROM warehouse.%1$I AS gone, warehouse.%1$I AS own
    WHERE gone.row_id = $1 AND own.row_id = $2 AND own.external_key IS NULL', of_table)
    INTO moved_key USING from_row, to_row;
  IF moved_key IS NOT NULL THEN
    EXECUTE format('UPDATE warehouse.%I SET external_key = NULL WHERE row_id = $1', of_table)
      USING from_row;
    EXECUTE format('UPDATE warehouse.%I SET external_key = $2 WHERE row_id = $1', of_table)
      USING to_row, moved_key;
  END IF;
END
$$;
COMMENT ON FUNCTION sync.move_links
  IS 'Moves the keys of a row whose record was merged to the row of the record that stayed.';
