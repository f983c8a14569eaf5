-- Entries of the feed. An entry names a row and the moment of a version, and holds no value: the values are in the table and
-- in history already, so an entry costs some 100 bytes however wide the row is, and a value that is forgotten in history is
-- forgotten in the feed, too.
-- The numbers of entries must come one at a time (CACHE 1): an entry that was written after another was read has the larger one.

-- The statement that adds the entries of the versions which a statement superseded. Versions that differ only in our own
-- columns are left out: a change on its way is no news of the record.
-- @param writer - `sweep` or `edit`; @param held, ended - the rows that were, and when their version ended, both as SQL
CREATE OR REPLACE FUNCTION sync.entries_of(place regclass, operation text, writer text, held text, ended text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  author text := CASE writer WHEN 'edit' THEN $sql$session_user, sync.application()$sql$ ELSE 'NULL, NULL' END;
  was text;
  became text;
BEGIN
  IF operation <> 'UPDATE' THEN
    RETURN format(
      'INSERT INTO sync.feed_entries (account_id, table_name, row_id, operation, at, written_by, application)
       SELECT held.account_id, %L, held.row_id, ''removed'', %s, %s FROM %s WHERE held._deleted_at IS NULL ORDER BY held.row_id',
      (SELECT relname FROM pg_class WHERE oid = place), ended, author, held);
  END IF;
  SELECT string_agg(format('held.%I', attname), ', ' ORDER BY attnum), string_agg(format('next.%I', attname), ', ' ORDER BY attnum)
    INTO was, became
    FROM pg_attribute WHERE attrelid = place AND attnum > 0 AND NOT attisdropped AND left(attname, 1) <> '_';
  RETURN format(
    'INSERT INTO sync.feed_entries (account_id, table_name, row_id, operation, at, written_by, application, change_id)
     SELECT held.account_id, %L, held.row_id,
            CASE WHEN next._deleted_at IS NOT NULL THEN ''removed'' WHEN held._deleted_at IS NOT NULL THEN ''created'' ELSE ''changed'' END,
            %s, %s, next._change_id
       FROM %s
      WHERE CASE WHEN num_nonnulls(held._deleted_at, next._deleted_at) = 0 THEN ROW(%s) IS DISTINCT FROM ROW(%s)
                 ELSE num_nonnulls(held._deleted_at, next._deleted_at) = 1 END
      ORDER BY held.row_id',
    (SELECT relname FROM pg_class WHERE oid = place), ended, author, held, was, became);
END
$$;
COMMENT ON FUNCTION sync.entries_of IS 'The statement, as SQL, that adds the entries of versions that a statement superseded.';

CREATE OR REPLACE FUNCTION sync.note_created() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sync.feed_entries (account_id, table_name, row_id, operation, at, written_by, application, change_id)
  SELECT NEW.account_id, TG_TABLE_NAME, NEW.row_id, 'created', NEW._changed_at, CASE WHEN is_edit THEN session_user END,
         CASE WHEN is_edit THEN sync.application() END, NEW._change_id
    FROM (SELECT NEW._sweep_id IS NULL AND NEW._change_id IS NULL) AS writer (is_edit);
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.note_created IS 'Trigger: adds an entry for a new row.';

-- Brings the new rows of a table into the feed. A first load says `fieldmirror.feed = off` and is left out; the condition is
-- checked for each of its rows, and costs less than 1 µs. The setting of any role but a worker counts for nothing. The trigger
-- sorts before record_insert by its name: the values that one writes into the new row are a later entry.
CREATE OR REPLACE FUNCTION sync.follow(of_table text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER feed_insert AFTER INSERT ON warehouse.%I FOR EACH ROW
       WHEN (NEW._deleted_at IS NULL AND NOT (coalesce(current_setting(''fieldmirror.feed'', true), '''') = ''off''
             AND has_function_privilege(''sync.write_as_worker()''::regprocedure, ''EXECUTE'')))
       EXECUTE FUNCTION sync.note_created()', of_table);
END
$$;
COMMENT ON FUNCTION sync.follow IS 'Brings the new rows of a table into the feed.';

-- A stream that was read as a whole for the first time begins: one entry says that its rows are to be read from the tables. It
-- need not be certified: what its first sweep missed comes as new rows later.
CREATE OR REPLACE FUNCTION sync.begin_stream() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sync.feed_starts (account_id, stream) VALUES (NEW.account_id, NEW.stream) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    INSERT INTO sync.feed_entries (account_id, table_name, operation, at) VALUES (NEW.account_id, NEW.stream, 'loaded', now());
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.begin_stream IS 'Trigger: begins the feed of a stream that was read as a whole for the first time.';

CREATE OR REPLACE TRIGGER begin_stream AFTER UPDATE OF state ON sync.sweeps FOR EACH ROW
  WHEN (NEW.mode = 'full' AND NEW.state IN ('certified', 'uncertified', 'stopped') AND OLD.state IN ('due', 'running')) EXECUTE FUNCTION sync.begin_stream();

CREATE OR REPLACE FUNCTION sync.tell_feed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('fieldmirror_feed', '');
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.tell_feed IS 'Trigger: NOTIFY of new entries (fieldmirror_feed), once a transaction.';

CREATE OR REPLACE TRIGGER tell_feed AFTER INSERT ON sync.feed_entries FOR EACH STATEMENT EXECUTE FUNCTION sync.tell_feed();
