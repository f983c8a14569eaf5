-- Keeps the versions that a statement superseded or removed. The function runs as its owner, so a
-- role that may write a warehouse table needs no right to write its history. Columns are named: if
-- the past table lacks one, the write fails instead of losing it. Only a person can add such a
-- column: a migration adds its columns to both tables. Arguments: `sweep` or `edit`; for
-- a table whose rows come inside other records, also the streams of these records, and the column
-- that names the record.
CREATE OR REPLACE FUNCTION history.keep_versions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  source text;
  ended text := $sql$greatest(now(), held._changed_at + interval '1 microsecond')$sql$;
  names text;
  held_names text;
  added_names text[];
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    source := format('%I.%I AS held', TG_TABLE_SCHEMA, TG_TABLE_NAME);
  ELSIF NOT EXISTS (SELECT FROM superseded) THEN
    RETURN NULL;
  ELSIF TG_OP = 'UPDATE' THEN
    -- A row that was updated and not changed has no stamp: it superseded nothing.
    source := 'superseded AS held JOIN successors AS next ON next.row_id = held.row_id AND '
      'next._changed_at > held._changed_at';
    ended := 'next._changed_at';
  ELSE
    source := 'superseded AS held';
  END IF;
  SELECT string_agg(format('%I', attname), ', ' ORDER BY attnum),
         string_agg(format('held.%I', attname), ', ' ORDER BY attnum),
         array_agg(attname ORDER BY attnum) FILTER (WHERE attname NOT IN (
           SELECT attname FROM pg_attribute
            WHERE attrelid = format('history.%I', 'past_' || TG_TABLE_NAME)::regclass))
    INTO names, held_names, added_names
    FROM pg_attribute WHERE attrelid = TG_RELID AND attnum > 0 AND NOT attisdropped;
  IF added_names IS NOT NULL THEN
    RAISE EXCEPTION 'warehouse.%: expected no columns but those of Fieldmirror, got %; drop what '
      'was added, and keep your values in a table of your own', TG_TABLE_NAME,
      array_to_string(added_names, ', ') USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  EXECUTE format('INSERT INTO history.%I (valid_to, %s) SELECT %s, %s FROM %s',
                 'past_' || TG_TABLE_NAME, names, ended, held_names, source);
  IF TG_OP <> 'UPDATE' THEN
    -- A row that a DELETE of an author left as a tombstone exists again by now. A key ends after
    -- the entry that its row was removed, so that the entry names the key.
    EXECUTE format('UPDATE sync.links AS link
      SET until = greatest(%s + interval ''1 microsecond'', link.since) FROM %s
      WHERE link.row_id = held.row_id AND link.table_name = %L AND link.until IS NULL AND (%L OR '
      'NOT EXISTS (SELECT FROM %s AS live WHERE live.row_id = held.row_id))', ended, source,
      TG_TABLE_NAME, TG_OP = 'TRUNCATE', TG_RELID::regclass);
  END IF;
  EXECUTE sync.entries_of(TG_RELID, TG_OP, TG_ARGV[0], source, ended);
  IF TG_ARGV[0] = 'edit' THEN
    EXECUTE format(
      $sql$INSERT INTO history.edits (row_id, table_name, at, kind, written_by, application)
           SELECT held.row_id, %L, %s, %L, session_user, sync.application() FROM %s
               ON CONFLICT (row_id, table_name, at) DO UPDATE SET kind = EXCLUDED.kind$sql$,
      TG_TABLE_NAME, ended, CASE TG_OP WHEN 'UPDATE' THEN 'update' ELSE 'delete' END, source);
    IF TG_NARGS > 1 THEN
      -- The next sweep reads the record of these rows again, though its bytes are the same.
      EXECUTE format(
        'DELETE FROM sync.known_records AS known USING (SELECT DISTINCT held.account_id, %s AS '
          'number FROM %s) AS record
          WHERE known.account_id = record.account_id AND known.stream = ANY (%L::text[]) AND '
            'known.number = %s',
        CASE TG_NARGS WHEN 2 THEN 'NULL' ELSE format('held.%I', TG_ARGV[2]) END,
        source, TG_ARGV[1], CASE TG_NARGS WHEN 2 THEN 'known.number' ELSE 'record.number' END);
    END IF;
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION history.keep_versions
  IS 'Trigger: keeps the versions that a statement superseded or removed.';

-- Notes the role that inserted a row which no sweep brought. A row_id that was in use when the
-- transaction began would have two versions at one time; only an INSERT that names its row_id can
-- cause that.
CREATE OR REPLACE FUNCTION history.note_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  used_until timestamptz;
BEGIN
  EXECUTE format('SELECT max(valid_to) FROM history.%I WHERE row_id = $1', 'past_' || TG_TABLE_NAME)
     INTO used_until USING NEW.row_id;
  IF used_until > NEW._changed_at THEN
    RAISE EXCEPTION 'warehouse.%, row %: its row_id was in use until %', TG_TABLE_NAME, NEW.row_id,
      used_until
      USING ERRCODE = 'integrity_constraint_violation',
        HINT = 'Leave row_id out of the INSERT, or insert it in a new transaction.';
  END IF;
  INSERT INTO history.edits (row_id, table_name, at, kind, written_by, application)
  VALUES (NEW.row_id, TG_TABLE_NAME, NEW._changed_at, 'insert', session_user,
          sync.application())
      ON CONFLICT (row_id, table_name, at) DO UPDATE SET kind = EXCLUDED.kind;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION history.note_insert
  IS 'Trigger: notes who inserted a row that no sweep brought.';
