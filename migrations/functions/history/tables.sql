-- Makes the history of one warehouse table, or brings it in line after a column was added there:
-- the past table, its indexes, the view, the functions of a moment, the triggers. Every table is
-- brought in line whenever the source changed. A migration that drops a column or changes its type
-- first drops the view, the functions of a moment and those of `mart` that read them. It alters the
-- past table as it sees fit.
CREATE OR REPLACE FUNCTION history.keep(table_name text, streams text[] DEFAULT '{}',
  parent_column text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  source text := format('warehouse.%I', table_name);
  past text := format('history.%I', 'past_' || table_name);
  names text;
  key text;
  missing text;
  arguments text := '';
  is_sweep text := '(coalesce(current_setting(''fieldmirror.writer'', true), '''') = ''sweep'' AND '
    'has_function_privilege(''sync.write_as_worker()''::regprocedure, ''EXECUTE''))';
  kind text;
  condition text;
  -- How long versions were held: a class for each bound, and one for those beyond the last.
  bounds text[] := '{8 hours,128 hours,2048 hours}';
  class text := format('width_bucket(valid_to - _changed_at, %L::interval[])', bounds);
  versions text;
BEGIN
  EXECUTE format('CREATE TABLE IF NOT EXISTS %s (valid_to timestamptz NOT NULL)', past);
  SELECT string_agg(format('held.%I', attname), ', ' ORDER BY attnum),
         string_agg(format('ADD COLUMN %I %s', attname, format_type(atttypid, atttypmod)), ', '
           ORDER BY attnum)
           FILTER (WHERE attname NOT IN (SELECT attname FROM pg_attribute
             WHERE attrelid = past::regclass AND NOT attisdropped))
    INTO names, missing
    FROM pg_attribute WHERE attrelid = source::regclass AND attnum > 0 AND NOT attisdropped;
  IF missing IS NOT NULL THEN
    EXECUTE format('ALTER TABLE %s %s', past, missing);
  END IF;
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = past::regclass AND contype = 'p') THEN
    EXECUTE format(
      'ALTER TABLE %s ADD CONSTRAINT %I PRIMARY KEY (row_id, _changed_at), ADD CONSTRAINT %I CHECK '
        '(valid_to > _changed_at)',
      past, 'past_' || table_name || '_pkey', 'past_' || table_name || '_valid_to_check');
  END IF;
  -- Ends only grow, so the index grows at its end.
  EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %s (valid_to, _changed_at)', 'past_'
    || table_name || '_valid_to_idx', past);
  -- A query of a moment reads the versions that were held then. For a moment long past, nearly all
  -- versions ended later than the moment. So each class is searched only for versions that ended
  -- soon enough: a version held for less than eight hours ended within eight hours. The next class
  -- has at most seventeen candidates of a row, however many versions the row has: they were held
  -- for eight hours or more, and ended within 128.
  EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %s ((%s), valid_to, _changed_at)', 'past_'
    || table_name || '_held_idx', past, class);
  SELECT string_agg(format(
    ' UNION ALL SELECT %1$s FROM %2$s AS held WHERE %3$s = %4$s AND held.valid_to > $1 %5$s'
      'AND held._changed_at <= $1',
    names, past, class, place, CASE WHEN place < cardinality(bounds) THEN format(
      'AND held.valid_to <= $1 + interval %L ',
      bounds[place + 1]) END), '' ORDER BY place)
    INTO versions FROM generate_series(0, cardinality(bounds)) AS place;
  SELECT string_agg(format('%I', attname), ', ' ORDER BY attname = 'account_id', place)
  INTO STRICT key
    FROM pg_constraint
   CROSS JOIN unnest(conkey) WITH ORDINALITY AS part (attnum, place)
    JOIN pg_attribute ON attrelid = conrelid AND pg_attribute.attnum = part.attnum
   WHERE conrelid = source::regclass AND conname = table_name || '_key';
  EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %s (%s)', 'past_' || table_name || '_key_idx',
    past, key);
  EXECUTE format(
    'CREATE OR REPLACE VIEW history.%1$I AS
     SELECT held._changed_at AS valid_from, NULL::timestamptz AS valid_to, edit.written_by, %2$s
       FROM %3$s AS held
       LEFT JOIN history.edits AS edit ON edit.row_id = held.row_id AND edit.table_name = %5$L
                                      AND edit.at = held._changed_at
      UNION ALL
     SELECT held._changed_at, held.valid_to, edit.written_by, %2$s
       FROM %4$s AS held
       LEFT JOIN history.edits AS edit ON edit.row_id = held.row_id AND edit.table_name = %5$L
                                      AND edit.at = held._changed_at',
    table_name, names, source, past, table_name);
  -- The star also shows rows that are removed. Postgres inlines the one function into the other.
  -- It would not inline a function with a search_path. So the bodies are parsed here: those that
  -- are texts are parsed by the search_path of their reader, who may find operators of others.
  EXECUTE format('CREATE OR REPLACE FUNCTION history.%I(moment timestamptz) RETURNS SETOF %s '
    'LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC %s; END',
    'all_' || table_name || '_as_of', source, format(
    'SELECT %1$s FROM %2$s AS held WHERE held._changed_at <= $1 %3$s', names, source, versions));
  EXECUTE format('CREATE OR REPLACE FUNCTION history.%I(moment timestamptz) RETURNS SETOF %s '
    'LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC %s; END',
    table_name || '_as_of', source, format(
    'SELECT * FROM history.%I($1) AS held WHERE held._deleted_at IS NULL',
    'all_' || table_name || '_as_of'));
  IF cardinality(streams) > 0 THEN
    arguments := concat(', ', concat_ws(', ', quote_literal(streams),
      quote_literal(parent_column)));
  END IF;
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER history_insert AFTER INSERT ON %s FOR EACH ROW WHEN (NEW._sweep_id '
      'IS NULL AND NEW._change_id IS NULL)
       EXECUTE FUNCTION history.note_insert()', source);
  PERFORM sync.follow(table_name);
  -- Each trigger is made twice: for sweeps, and for all other writers. The condition checks the
  -- writer here, because only here the statement's own user is known: the functions run as their
  -- owner.
  FOR kind, condition IN VALUES ('sweep', is_sweep), ('edit', 'NOT ' || is_sweep) LOOP
    EXECUTE format(
      'CREATE OR REPLACE TRIGGER %I BEFORE UPDATE ON %s FOR EACH ROW WHEN (%s %s) EXECUTE FUNCTION '
        'history.stamp(%L)',
      'history_stamp_' || kind, source, CASE kind WHEN 'sweep'
        THEN 'NEW._changed_at <= OLD._changed_at AND' END, condition, kind);
    EXECUTE format(
      'CREATE OR REPLACE TRIGGER %I AFTER UPDATE ON %s
         REFERENCING OLD TABLE AS superseded NEW TABLE AS successors FOR EACH STATEMENT
         WHEN (%s) EXECUTE FUNCTION history.keep_versions(%L%s)', 'history_update_' || kind, source,
           condition, kind, arguments);
    EXECUTE format(
      'CREATE OR REPLACE TRIGGER %I AFTER DELETE ON %s
         REFERENCING OLD TABLE AS superseded FOR EACH STATEMENT
         WHEN (%s) EXECUTE FUNCTION history.keep_versions(%L%s)', 'history_delete_' || kind, source,
           condition, kind, arguments);
    EXECUTE format(
      'CREATE OR REPLACE TRIGGER %I BEFORE TRUNCATE ON %s FOR EACH STATEMENT
         WHEN (%s) EXECUTE FUNCTION history.keep_versions(%L%s)', 'history_truncate_' || kind,
           source, condition, kind, arguments);
  END LOOP;
END
$$;
COMMENT ON FUNCTION history.keep IS
  'Makes what the history of a warehouse table needs, or brings it in line after a column was '
  'added. Of a table whose rows come inside other records: the streams of these, and the column '
  'that names the record.';
