-- Entries of the feed. An entry names a row and the moment of a version, and holds no value: the
-- values are in the table and in history already, so an entry costs some 100 bytes however wide the
-- row is, and a value that is forgotten in history is forgotten in the feed, too. The numbers of
-- entries must come one at a time (CACHE 1): an entry that was written after another was read has
-- the larger one.

-- The change for which this transaction wrote a row, if no record of the service was read. It is a
-- change that the transaction made, joined, ended or decided; for a number that the service gave,
-- it is the create. An edit of a column that is not part of the change, such as external_key,
-- belongs to no change. One plan serves all calls: planning each call again would cost more than
-- the look-up.
-- @param held, next - the row before and after; null if there was none
CREATE OR REPLACE FUNCTION sync.change_of(of_table text, held jsonb, next jsonb) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  told jsonb := coalesce(next, held);
  is_link boolean := of_table = 'job_employees';
  of_row bigint := told->>'row_id';
  key text := (SELECT key_column FROM sync.captured_tables WHERE table_name = of_table);
  is_number boolean := held->>key IS NULL AND next->>key IS NOT NULL AND held IS NOT NULL;
BEGIN
  IF is_link THEN
    of_row := coalesce((told->>'parent_row_id')::bigint, (
      SELECT row_id FROM warehouse.jobs WHERE account_id = (told->>'account_id')::bigint
      AND job_number = (told->>'job_number')::bigint));
  END IF;
  RETURN (
    SELECT change.change_id FROM sync.changes AS change
     WHERE change.row_id = of_row AND change.table_name = CASE WHEN is_link THEN 'jobs'
       ELSE of_table END
       AND (is_number OR change.transaction_id = pg_current_xact_id()::text::bigint
         OR change.settled_at = now()
            OR EXISTS (SELECT FROM sync.conflicts AS seen WHERE seen.change_id = change.change_id
              AND seen.decided_at = now()))
       AND CASE WHEN is_number THEN change.operation = 'create'
                WHEN is_link THEN change.fields ? 'employee_ids'
                WHEN held IS NULL OR next IS NULL OR change.operation = 'delete' THEN true
                ELSE EXISTS (SELECT FROM sync.write_rules AS rule
                              WHERE rule.table_name = of_table
                              AND held->rule.field IS DISTINCT FROM next->rule.field
                                AND (change.operation = 'create' OR change.fields ? rule.field
                                  OR change.base ? rule.field)) END
     ORDER BY change.change_id DESC LIMIT 1);
END
$$;
COMMENT ON FUNCTION sync.change_of
  IS 'The change that this transaction wrote a row for; null where it was none.';

-- The change that caused the values of a row after its record was read back. Several changes of one
-- record may be read back together: a row of one of them belongs to that change. An edit of another
-- person in the meantime has no cause here. An entry that holds such an edit beside an effect has
-- none either. A row that appeared or disappeared is an effect of the change in two cases: the
-- change created or deleted the row or its parent record, or it wants that assignment.
-- `fieldmirror.made` holds for each change the difference between the readings before and after its
-- request, as {"CHANGE": {"TABLE": ["column", …]}}, or "all" for a create that was read back at
-- once. Without it, for example after a lost answer, only columns that no person can set count as
-- effects. A worker sets it for its own transaction; no author can write a row that is read back.
CREATE OR REPLACE FUNCTION sync.cause_of(of_change bigint, of_table text, held jsonb, next jsonb)
  RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes;
  is_own boolean;
  made jsonb;
  touched text[];
  was_there boolean := held IS NOT NULL AND held->>'_deleted_at' IS NULL;
  is_there boolean := next->>'_deleted_at' IS NULL;
BEGIN
  SELECT * INTO change FROM sync.changes
   WHERE row_id = (next->>'row_id')::bigint AND table_name = of_table AND settled_at = now()
     AND state = 'done' ORDER BY change_id DESC LIMIT 1;
  is_own := FOUND;
  IF NOT FOUND THEN
    SELECT * INTO change FROM sync.changes WHERE change_id = of_change;
    IF NOT FOUND THEN
      RETURN of_change;
    END IF;
    is_own := change.table_name = of_table AND change.row_id = (next->>'row_id')::bigint;
  END IF;
  IF was_there <> is_there THEN
    RETURN CASE WHEN change.operation = CASE WHEN is_there THEN 'create' ELSE 'delete' END
                  AND (is_own OR EXISTS (SELECT FROM sync.captured_tables AS parent
                        WHERE parent.table_name IN ('customers', 'jobs')
                          AND parent.table_name = change.table_name
                          AND parent.table_name <> of_table
                          AND next->>parent.key_column = change.number::text))
                  OR of_table = 'job_employees' AND change.fields ? 'employee_ids'
                     AND change.fields->'employee_ids' ? (next->>'employee_id') = is_there
                     AND (is_there OR change.base->'employee_ids' ? (next->>'employee_id'))
                     THEN change.change_id END;
  END IF;
  made := nullif(current_setting('fieldmirror.made', true), '')::jsonb->change.change_id::text;
  IF is_own AND made = '"all"' OR of_table = 'job_employees'
    AND change.fields->'employee_ids' ? (next->>'employee_id') THEN
    RETURN change.change_id;
  END IF;
  made := made->of_table;
  touched := CASE WHEN change.table_name = 'job_charges'
    THEN '{updated_at,updated_by,subtotal,tax,total,balance_remaining}'::text[]
    ELSE '{updated_at,updated_by,full_name}' END;
  RETURN CASE WHEN NOT EXISTS (
    SELECT FROM jsonb_object_keys(next) AS changed (name)
     WHERE left(name, 1) <> '_' AND held->name IS DISTINCT FROM next->name
       AND NOT CASE
             WHEN is_own AND change.fields ? name THEN coalesce(made ? name, true)
             WHEN EXISTS (SELECT FROM sync.write_rules AS rule
                           WHERE rule.table_name = of_table AND rule.field = changed.name)
               THEN false
             WHEN made IS NOT NULL THEN made ? name
             ELSE is_own AND change.operation = 'create' OR name = ANY (touched) END)
    THEN change.change_id END;
END
$$;
COMMENT ON FUNCTION sync.cause_of IS
  'The change that is the cause of what a row holds after its record was read back; null where it '
  'also holds what somebody else did.';

-- The statement that adds the entries of the versions which a statement superseded. Versions that
-- differ only in our own columns are left out: a change on its way does not change the record.
-- @param writer - `sweep` or `edit`; @param held, ended - the rows that were, and when their
-- version ended, both as SQL
CREATE OR REPLACE FUNCTION sync.entries_of(place regclass, operation text, writer text, held text,
  ended text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  author text := CASE writer WHEN 'edit' THEN $sql$session_user, sync.application()$sql$
    ELSE 'NULL, NULL' END;
  name text := (SELECT relname FROM pg_class WHERE oid = place);
  made text := format('sync.change_of(%L, to_jsonb(held), to_jsonb(next))', name);
  was text;
  became text;
BEGIN
  IF operation <> 'UPDATE' THEN
    RETURN format(
      'INSERT INTO sync.feed_entries (account_id, table_name, row_id, operation, at, written_by, '
        'application, change_id)
       SELECT held.account_id, %1$L, held.row_id, ''removed'', %2$s, %3$s, sync.change_of(%1$L, '
         'to_jsonb(held), NULL)
         FROM %4$s WHERE held._deleted_at IS NULL ORDER BY held.row_id',
      name, ended, author, held);
  END IF;
  -- Rows that a sweep read have no cause here, so none is searched. A row that was read back names
  -- its change; a row that got its former values from an ended change has no hash.
  IF writer <> 'edit' THEN
    made := format(
      'CASE WHEN next._change_id IS NOT NULL AND (next._change_id IS DISTINCT FROM held._change_id '
        'OR next._hash IS NOT NULL)
            THEN sync.cause_of(next._change_id, %L, to_jsonb(held), to_jsonb(next))
            WHEN next._sweep_id IS NULL OR next._hash IS NULL THEN %s END', name, made);
  END IF;
  SELECT string_agg(format('held.%I', attname), ', ' ORDER BY attnum),
    string_agg(format('next.%I', attname), ', ' ORDER BY attnum)
    INTO was, became
    FROM pg_attribute WHERE attrelid = place AND attnum > 0 AND NOT attisdropped
    AND left(attname, 1) <> '_';
  RETURN format(
    'INSERT INTO sync.feed_entries (account_id, table_name, row_id, operation, at, written_by, '
      'application, change_id)
     SELECT held.account_id, %L, held.row_id,
            CASE WHEN next._deleted_at IS NOT NULL THEN ''removed'' WHEN held._deleted_at IS NOT '
              'NULL THEN ''created'' ELSE ''changed'' END,
            %s, %s, %s
       FROM %s
      WHERE CASE WHEN num_nonnulls(held._deleted_at, next._deleted_at) = 0 THEN ROW(%s) IS '
        'DISTINCT FROM ROW(%s)
                 ELSE num_nonnulls(held._deleted_at, next._deleted_at) = 1 END
      ORDER BY held.row_id',
    name, ended, author, made, held, was, became);
END
$$;
COMMENT ON FUNCTION sync.entries_of
  IS 'The statement, as SQL, that adds the entries of versions that a statement superseded.';

CREATE OR REPLACE FUNCTION sync.note_created() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  is_edit boolean := NEW._sweep_id IS NULL AND NEW._change_id IS NULL;
  made bigint := CASE WHEN is_edit THEN sync.change_of(TG_TABLE_NAME, NULL, to_jsonb(NEW))
                      WHEN NEW._change_id IS NOT NULL THEN
                        sync.cause_of(NEW._change_id, TG_TABLE_NAME, NULL, to_jsonb(NEW)) END;
BEGIN
  INSERT INTO sync.feed_entries (account_id, table_name, row_id, operation, at, written_by,
    application, change_id)
  VALUES (NEW.account_id, TG_TABLE_NAME, NEW.row_id, 'created', NEW._changed_at,
    CASE WHEN is_edit THEN session_user END,
          CASE WHEN is_edit THEN sync.application() END, made);
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.note_created IS 'Trigger: adds an entry for a new row.';

-- Adds the new rows of a table to the feed. A first load sets `fieldmirror.feed = off` and is left
-- out; the condition is checked for each of its rows, and costs less than 1 µs. The setting counts
-- only for a worker. The trigger sorts after record_insert by its name, so the change that the
-- entry names exists by then.
CREATE OR REPLACE FUNCTION sync.follow(of_table text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('DROP TRIGGER IF EXISTS feed_insert ON warehouse.%I', of_table);
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER tell_created AFTER INSERT ON warehouse.%I FOR EACH ROW
       WHEN (NEW._deleted_at IS NULL AND NOT (coalesce(current_setting(''fieldmirror.feed'', '
         'true), '''') = ''off''
             AND has_function_privilege(''sync.write_as_worker()''::regprocedure, ''EXECUTE'')))
       EXECUTE FUNCTION sync.note_created()', of_table);
END
$$;
COMMENT ON FUNCTION sync.follow IS 'Brings the new rows of a table into the feed.';

-- When a stream was read as a whole for the first time, one entry is added: its readers have to
-- read the rows from the tables. The stream need not be certified: rows that its first sweep missed
-- come as new rows later.
CREATE OR REPLACE FUNCTION sync.begin_stream() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sync.feed_starts (account_id, stream) VALUES (NEW.account_id, NEW.stream) ON CONFLICT
    DO NOTHING;
  IF FOUND THEN
    INSERT INTO sync.feed_entries (account_id, table_name, operation, at)
      VALUES (NEW.account_id, NEW.stream, 'loaded', now());
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.begin_stream
  IS 'Trigger: begins the feed of a stream that was read as a whole for the first time.';

CREATE OR REPLACE TRIGGER begin_stream AFTER UPDATE OF state ON sync.sweeps FOR EACH ROW
  WHEN (NEW.mode = 'full' AND NEW.state IN ('certified', 'uncertified', 'stopped')
    AND OLD.state IN ('due', 'running')) EXECUTE FUNCTION sync.begin_stream();

CREATE OR REPLACE FUNCTION sync.tell_feed() RETURNS trigger
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('fieldmirror_feed', '');
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.tell_feed
  IS 'Trigger: NOTIFY of new entries (fieldmirror_feed), once a transaction.';

CREATE OR REPLACE TRIGGER tell_feed AFTER INSERT ON sync.feed_entries FOR EACH STATEMENT
  EXECUTE FUNCTION sync.tell_feed();
