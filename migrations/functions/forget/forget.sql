-- Forgets a customer: its personal data go from the rows, from every version, from messages and
-- evidence. Keys of outside systems may be such data, and go as well. Its changes go with their
-- requests and conflicts, because nothing but such data is in them. Numbers, amounts and times
-- stay, and so do the figures of mart. All of it or nothing: the function runs in one transaction.
-- @returns how many rows of each table were emptied or removed
CREATE OR REPLACE FUNCTION sync.forget_customer(of_account bigint, of_customer bigint) RETURNS jsonb
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  counts jsonb;
BEGIN
  -- The receipt is inserted first, because the triggers search for it. The triggers are made only
  -- after running writers have ended, and later writers wait.
  INSERT INTO sync.forgotten (account_id, customer_number, removed)
    VALUES (of_account, of_customer, '{}');
  PERFORM sync.guard_forgotten();
  counts := sync.forget_data(of_account, of_customer, false);
  PERFORM sync.refresh_star();
  UPDATE sync.forgotten SET removed = counts
    WHERE forgotten_id = (SELECT max(forgotten_id) FROM sync.forgotten WHERE account_id = of_account
    AND customer_number = of_customer);
  RETURN counts;
END
$$;
COMMENT ON FUNCTION sync.forget_customer
  IS 'Removes the personal data of a customer, keeps them out from then on, and writes a receipt.';

-- The counts that the receipt would hold now. The function only reads: no writer waits, and nothing
-- is written. A login that may not forget the customer is refused here, too.
CREATE OR REPLACE FUNCTION sync.count_forgotten(of_account bigint, of_customer bigint) RETURNS jsonb
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'warehouse.customers'::regclass),
    'USAGE') THEN
    RAISE EXCEPTION 'the tables of the warehouse belong to another login'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN sync.forget_data(of_account, of_customer, true);
END
$$;
COMMENT ON FUNCTION sync.count_forgotten
  IS 'Counts by table what forgetting a customer would empty or remove, and writes nothing.';

-- The data of a customer, table by table. @param counts_only - the data stay, and are only counted
CREATE OR REPLACE FUNCTION sync.forget_data(of_account bigint, of_customer bigint,
  counts_only boolean) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  words text[] := sync.names_of_customer(of_account, of_customer);
  rows jsonb;
  one record;
  counts jsonb := '{}';
BEGIN
  SELECT jsonb_object_agg(table_name, ids) INTO rows
    FROM (SELECT table_name, jsonb_agg(row_id) AS ids
      FROM sync.rows_of_customer(of_account, of_customer) GROUP BY table_name) AS held;
  PERFORM sync.refuse_open_changes(rows);
  FOR one IN SELECT table_name AS name, personal_columns,
    ARRAY(SELECT jsonb_array_elements_text(rows->table_name)::bigint) AS ids
               FROM sync.captured_tables WHERE rows ? table_name ORDER BY table_name LOOP
    counts := sync.sum_counts(counts, sync.empty_rows(one.name,
      one.personal_columns || 'external_key'::text, one.ids, of_account, of_customer, counts_only));
    counts := sync.sum_counts(counts, sync.drop_changes(one.name, one.ids, counts_only));
    counts := sync.sum_counts(counts, sync.drop_links(one.name, one.ids, counts_only));
  END LOOP;
  counts := sync.sum_counts(counts, sync.empty_quarantine(of_account, of_customer, counts_only));
  RETURN sync.sum_counts(counts,
    sync.forget_words(of_account, words, of_customer, rows, counts_only));
END
$$;
COMMENT ON FUNCTION sync.forget_data
  IS 'Empties or removes the personal data of a customer, or only counts them.';

CREATE OR REPLACE FUNCTION sync.refuse_open_changes(rows jsonb) RETURNS void
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  open_changes text := (SELECT string_agg(change_id::text, ', ' ORDER BY change_id)
    FROM sync.changes WHERE is_open AND rows->table_name @> to_jsonb(row_id));
BEGIN
  IF open_changes IS NOT NULL THEN
    RAISE EXCEPTION 'changes of the customer are not over: %', open_changes
      USING ERRCODE = 'object_in_use', HINT =
        'Push them, or cancel them: fieldmirror changes cancel NUMBER.';
  END IF;
END
$$;
COMMENT ON FUNCTION sync.refuse_open_changes
  IS 'Refuses to forget a customer while changes of its rows are on their way.';

-- The current rows are emptied first: their former values become a version, which is emptied with
-- the others. The writer is set in the body. A function declared with one of our settings would
-- need a superuser, which managed servers do not give.
CREATE OR REPLACE FUNCTION sync.empty_rows(of_table text, columns text[], ids bigint[],
  of_account bigint, of_customer bigint, counts_only boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer_before text := coalesce(current_setting('fieldmirror.writer', true), '');
  emptied text := (SELECT string_agg(format('%I = %s', name,
    CASE name WHEN 'extra' THEN '''{}''' ELSE 'NULL' END), ', ') FROM unnest(columns) AS name);
  filled text := (SELECT string_agg(format('%I %s', name,
    CASE name WHEN 'extra' THEN '<> ''{}''' ELSE 'IS NOT NULL' END), ' OR ')
    FROM unnest(columns) AS name);
  moved text := CASE WHEN of_table <> 'customers' AND sync.has_column(of_table, 'customer_number')
    THEN 'OR account_id = $2 AND customer_number = $3' ELSE '' END;
  here bigint;
  past bigint;
BEGIN
  IF counts_only THEN
    EXECUTE format('SELECT count(*) FROM warehouse.%I WHERE row_id = ANY ($1) AND (%s)', of_table,
      filled) INTO here USING ids;
    EXECUTE format('SELECT count(*) FROM history.%I WHERE (row_id = ANY ($1) %s) AND (%s)', 'past_'
      || of_table, moved, filled) INTO past USING ids, of_account, of_customer;
    RETURN jsonb_build_object('warehouse.' || of_table, here, 'history.' || of_table, past + here);
  END IF;
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  EXECUTE format('UPDATE warehouse.%I SET %s WHERE row_id = ANY ($1) AND (%s)', of_table, emptied,
    filled) USING ids;
  GET DIAGNOSTICS here = ROW_COUNT;
  EXECUTE format('UPDATE history.%I SET %s WHERE (row_id = ANY ($1) %s) AND (%s)', 'past_'
    || of_table, emptied, moved, filled) USING ids, of_account, of_customer;
  GET DIAGNOSTICS past = ROW_COUNT;
  PERFORM set_config('fieldmirror.writer', writer_before, true);
  RETURN jsonb_build_object('warehouse.' || of_table, here, 'history.' || of_table, past);
END
$$;
COMMENT ON FUNCTION sync.empty_rows
  IS 'Empties the personal columns of rows and of all their versions.';

CREATE OR REPLACE FUNCTION sync.drop_changes(of_table text, ids bigint[], counts_only boolean)
  RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone bigint[] := ARRAY(SELECT change_id FROM sync.changes WHERE table_name = of_table
    AND row_id = ANY (ids));
  counts jsonb := jsonb_build_object(
    'sync.changes', cardinality(gone),
    'sync.attempts', (SELECT count(*) FROM sync.attempts WHERE change_id = ANY (gone)),
    'sync.alterations', (SELECT count(*) FROM sync.alterations WHERE change_id = ANY (gone)),
    'sync.conflicts', (SELECT count(*) FROM sync.conflicts WHERE change_id = ANY (gone)));
BEGIN
  IF NOT counts_only THEN
    DELETE FROM sync.changes WHERE change_id = ANY (gone);
  END IF;
  RETURN counts;
END
$$;
COMMENT ON FUNCTION sync.drop_changes
  IS 'Removes the changes of rows, with their requests, alterations and conflicts.';

CREATE OR REPLACE FUNCTION sync.drop_links(of_table text, ids bigint[], counts_only boolean)
  RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone bigint := (SELECT count(*) FROM sync.links WHERE table_name = of_table
    AND row_id = ANY (ids));
BEGIN
  IF NOT counts_only THEN
    DELETE FROM sync.links WHERE table_name = of_table AND row_id = ANY (ids);
  END IF;
  RETURN jsonb_build_object('sync.links', gone);
END
$$;
COMMENT ON FUNCTION sync.drop_links
  IS 'Removes the keys that outside systems have, or had, for rows.';

-- The entries that hold a customer or one of its jobs, and were not emptied yet.
CREATE OR REPLACE FUNCTION sync.quarantine_of(of_account bigint, of_customer bigint)
  RETURNS SETOF bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT quarantine_id FROM sync.quarantine WHERE account_id = of_account AND xml <> ''
     AND (stream = 'customers' AND number = of_customer
          OR stream = 'jobs' AND number IN (SELECT job_number FROM warehouse.jobs
            WHERE account_id = of_account AND customer_number = of_customer))
$$;
COMMENT ON FUNCTION sync.quarantine_of
  IS 'The entries of the quarantine that hold a customer or one of its jobs.';

-- The trigger empties the entries: each is written as it is.
CREATE OR REPLACE FUNCTION sync.empty_quarantine(of_account bigint, of_customer bigint,
  counts_only boolean) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found bigint[] := ARRAY(SELECT sync.quarantine_of(of_account, of_customer));
BEGIN
  IF NOT counts_only THEN
    UPDATE sync.quarantine SET xml = '' WHERE quarantine_id = ANY (found);
  END IF;
  RETURN jsonb_build_object('sync.quarantine', cardinality(found));
END
$$;
COMMENT ON FUNCTION sync.empty_quarantine
  IS 'Empties what the quarantine holds of a customer and its jobs.';

-- A table counts once for each removed row, and once for each emptied message.
CREATE OR REPLACE FUNCTION sync.sum_counts(one jsonb, other jsonb) RETURNS jsonb
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(key, rows ORDER BY key), '{}')
    FROM (SELECT key, sum(value::bigint) AS rows
            FROM (SELECT * FROM jsonb_each_text(one) UNION ALL SELECT * FROM jsonb_each_text(other))
              AS held GROUP BY key) AS summed
   WHERE rows > 0
$$;
COMMENT ON FUNCTION sync.sum_counts IS 'Counts by table, added up.';
