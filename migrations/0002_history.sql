-- Every version of every warehouse row. The current version is the warehouse row itself; history.past_<table> holds what
-- was superseded, written by triggers that see whole statements. So a first load and an unchanged sweep write nothing here.
CREATE SCHEMA history;
--> statement-breakpoint
-- Who wrote what no sweep wrote. Sweeps leave their number in the row.
CREATE TABLE history.edits (
	row_id bigint NOT NULL,
	table_name text NOT NULL,
	at timestamptz NOT NULL,
	kind text NOT NULL,
	written_by text NOT NULL,
	application text,
	CONSTRAINT edits_pkey PRIMARY KEY (row_id, table_name, at),
	CONSTRAINT edits_kind_check CHECK (kind IN ('insert', 'update', 'delete'))
);
--> statement-breakpoint
-- Stamps an updated row. A version begins when its transaction began, so that a job and its children change at the same
-- instant; but never before the row's last version ended: two writes in one transaction, or a transaction that began
-- earlier and writes later, are told apart by a microsecond. The consequence: what holds at a moment is settled once
-- every transaction begun before it has ended; the moment at which a past sweep ended always is.
-- A sweep stamps its rows itself; this is called for the others, and for a sweep whose stamp would not be later.
CREATE FUNCTION history.stamp() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_setting('fieldmirror.writer', true) IS DISTINCT FROM 'sweep' THEN
    -- By image: 1.5 and 1.50 are equal and not the same.
    IF NEW *= OLD THEN
      RETURN NULL;
    END IF;
    IF NEW.row_id <> OLD.row_id THEN
      RAISE EXCEPTION 'warehouse.%, row %: row_id never changes', TG_TABLE_NAME, OLD.row_id
        USING ERRCODE = 'integrity_constraint_violation', HINT = 'Leave row_id out of the UPDATE.';
    END IF;
    -- The row no longer says what the service sent: without a hash the next sweep reads its record again.
    NEW._hash := NULL;
    NEW._sweep_id := NULL;
    NEW._page := NULL;
  END IF;
  NEW._changed_at := greatest(now(), OLD._changed_at + interval '1 microsecond');
  RETURN NEW;
END
$$;
--> statement-breakpoint
-- Keeps what a statement superseded or removed. As its owner, so that who may write a warehouse table need not be
-- allowed to write its history. Columns by name: where the past table lacks one, the write fails instead of losing it.
-- Arguments, of a table whose rows come inside other records: the streams of these, and the column that names the record.
CREATE FUNCTION history.keep_versions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  source text;
  ended text := $sql$greatest(now(), held._changed_at + interval '1 microsecond')$sql$;
  names text;
  held_names text;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    source := format('%I.%I AS held', TG_TABLE_SCHEMA, TG_TABLE_NAME);
  ELSIF NOT EXISTS (SELECT FROM superseded) THEN
    RETURN NULL;
  ELSIF TG_OP = 'UPDATE' THEN
    source := 'superseded AS held JOIN successors AS next ON next.row_id = held.row_id';
    ended := 'next._changed_at';
  ELSE
    source := 'superseded AS held';
  END IF;
  SELECT string_agg(format('%I', attname), ', ' ORDER BY attnum),
         string_agg(format('held.%I', attname), ', ' ORDER BY attnum)
    INTO names, held_names
    FROM pg_attribute WHERE attrelid = TG_RELID AND attnum > 0 AND NOT attisdropped;
  EXECUTE format('INSERT INTO history.%I (valid_to, %s) SELECT %s, %s FROM %s',
                 'past_' || TG_TABLE_NAME, names, ended, held_names, source);
  IF current_setting('fieldmirror.writer', true) IS DISTINCT FROM 'sweep' THEN
    EXECUTE format(
      $sql$INSERT INTO history.edits (row_id, table_name, at, kind, written_by, application)
           SELECT held.row_id, %L, %s, %L, session_user, nullif(current_setting('application_name'), '') FROM %s
               ON CONFLICT (row_id, table_name, at) DO UPDATE SET kind = EXCLUDED.kind$sql$,
      TG_TABLE_NAME, ended, CASE TG_OP WHEN 'UPDATE' THEN 'update' ELSE 'delete' END, source);
    IF TG_NARGS > 0 THEN
      -- Their record is read again by the next sweep, though its bytes are the same.
      EXECUTE format(
        'DELETE FROM sync.known_records AS known USING (SELECT DISTINCT held.account_id, %s AS number FROM %s) AS record
          WHERE known.account_id = record.account_id AND known.stream = ANY (%L::text[]) AND known.number = %s',
        CASE TG_NARGS WHEN 1 THEN 'NULL' ELSE format('held.%I', TG_ARGV[1]) END,
        source, TG_ARGV[0], CASE TG_NARGS WHEN 1 THEN 'known.number' ELSE 'record.number' END);
    END IF;
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
-- Notes who inserted a row that no sweep brought. A row_id that was in use when the transaction began would have two
-- versions at one time; it takes somebody who gives out row_id themselves.
CREATE FUNCTION history.note_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  used_until timestamptz;
BEGIN
  EXECUTE format('SELECT max(valid_to) FROM history.%I WHERE row_id = $1', 'past_' || TG_TABLE_NAME)
     INTO used_until USING NEW.row_id;
  IF used_until > NEW._changed_at THEN
    RAISE EXCEPTION 'warehouse.%, row %: its row_id was in use until %', TG_TABLE_NAME, NEW.row_id, used_until
      USING ERRCODE = 'integrity_constraint_violation', HINT = 'Leave row_id out of the INSERT, or insert it in a new transaction.';
  END IF;
  INSERT INTO history.edits (row_id, table_name, at, kind, written_by, application)
  VALUES (NEW.row_id, TG_TABLE_NAME, NEW._changed_at, 'insert', session_user,
          nullif(current_setting('application_name'), ''))
      ON CONFLICT (row_id, table_name, at) DO UPDATE SET kind = EXCLUDED.kind;
  RETURN NULL;
END
$$;
--> statement-breakpoint
-- Makes all that the history of one warehouse table needs, or brings it in line after a column was added there: the past
-- table, its indexes, the view, the function of a moment, the triggers. To be called again by a migration that adds a
-- column. A migration that drops a column or changes its type drops the view and the function of the moment first, and
-- does the same to the past table as it thinks right.
CREATE FUNCTION history.keep(table_name text, streams text[] DEFAULT '{}', parent_column text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  source text := format('warehouse.%I', table_name);
  past text := format('history.%I', 'past_' || table_name);
  names text;
  key text;
  missing text;
  arguments text := '';
BEGIN
  EXECUTE format('CREATE TABLE IF NOT EXISTS %s (valid_to timestamptz NOT NULL)', past);
  SELECT string_agg(format('held.%I', attname), ', ' ORDER BY attnum),
         string_agg(format('ADD COLUMN %I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
           FILTER (WHERE attname NOT IN (SELECT attname FROM pg_attribute WHERE attrelid = past::regclass AND NOT attisdropped))
    INTO names, missing
    FROM pg_attribute WHERE attrelid = source::regclass AND attnum > 0 AND NOT attisdropped;
  IF missing IS NOT NULL THEN
    EXECUTE format('ALTER TABLE %s %s', past, missing);
  END IF;
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = past::regclass AND contype = 'p') THEN
    EXECUTE format(
      'ALTER TABLE %s ADD CONSTRAINT %I PRIMARY KEY (row_id, _changed_at), ADD CONSTRAINT %I CHECK (valid_to > _changed_at)',
      past, 'past_' || table_name || '_pkey', 'past_' || table_name || '_valid_to_check');
  END IF;
  -- For a moment: what ended after it, and of that what had begun. Times of ending only grow, so the index does at its end.
  EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %s (valid_to, _changed_at)', 'past_' || table_name || '_valid_to_idx', past);
  SELECT string_agg(format('%I', attname), ', ' ORDER BY attname = 'account_id', place) INTO STRICT key
    FROM pg_constraint
   CROSS JOIN unnest(conkey) WITH ORDINALITY AS part (attnum, place)
    JOIN pg_attribute ON attrelid = conrelid AND pg_attribute.attnum = part.attnum
   WHERE conrelid = source::regclass AND conname = table_name || '_key';
  EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %s (%s)', 'past_' || table_name || '_key_idx', past, key);
  EXECUTE format(
    'CREATE OR REPLACE VIEW history.%1$I AS
     SELECT held._changed_at AS valid_from, NULL::timestamptz AS valid_to, edit.written_by, %2$s
       FROM %3$s AS held
       LEFT JOIN history.edits AS edit ON edit.row_id = held.row_id AND edit.table_name = %5$L
                                      AND edit.at = held._changed_at AND held._sweep_id IS NULL
      UNION ALL
     SELECT held._changed_at, held.valid_to, edit.written_by, %2$s
       FROM %4$s AS held
       LEFT JOIN history.edits AS edit ON edit.row_id = held.row_id AND edit.table_name = %5$L
                                      AND edit.at = held._changed_at AND held._sweep_id IS NULL',
    table_name, names, source, past, table_name);
  EXECUTE format('CREATE OR REPLACE FUNCTION history.%I(moment timestamptz) RETURNS SETOF %s LANGUAGE sql STABLE PARALLEL SAFE AS %L',
    table_name || '_as_of', source, format(
    'SELECT %1$s FROM %2$s AS held WHERE held._changed_at <= $1 AND held._deleted_at IS NULL
      UNION ALL
     SELECT %1$s FROM %3$s AS held WHERE held._changed_at <= $1 AND held.valid_to > $1 AND held._deleted_at IS NULL',
    names, source, past));
  IF cardinality(streams) > 0 THEN
    arguments := concat_ws(', ', quote_literal(streams), quote_literal(parent_column));
  END IF;
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER history_stamp BEFORE UPDATE ON %s FOR EACH ROW
       WHEN (current_setting(''fieldmirror.writer'', true) IS DISTINCT FROM ''sweep'' OR NEW._changed_at <= OLD._changed_at)
       EXECUTE FUNCTION history.stamp()', source);
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER history_insert AFTER INSERT ON %s FOR EACH ROW WHEN (NEW._sweep_id IS NULL)
       EXECUTE FUNCTION history.note_insert()', source);
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER history_update AFTER UPDATE ON %s
       REFERENCING OLD TABLE AS superseded NEW TABLE AS successors FOR EACH STATEMENT
       EXECUTE FUNCTION history.keep_versions(%s)', source, arguments);
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER history_delete AFTER DELETE ON %s
       REFERENCING OLD TABLE AS superseded FOR EACH STATEMENT
       EXECUTE FUNCTION history.keep_versions(%s)', source, arguments);
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER history_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT
       EXECUTE FUNCTION history.keep_versions(%s)', source, arguments);
END
$$;
--> statement-breakpoint
SELECT history.keep(name) FROM unnest(ARRAY['employees', 'customers', 'jobs', 'tasks']) AS name;
--> statement-breakpoint
SELECT history.keep(name, '{customers}', 'customer_number') FROM unnest(ARRAY['contacts', 'customer_notes']) AS name;
--> statement-breakpoint
SELECT history.keep(name, '{jobs}', 'job_number')
  FROM unnest(ARRAY['job_employees', 'job_charges', 'time_entries', 'job_notes']) AS name;
--> statement-breakpoint
-- Many records share one of these: after an edit they are all read again.
SELECT history.keep('job_types', '{jobs}'), history.keep('job_statuses', '{jobs}'), history.keep('tax_entities', '{customers,jobs}');
