-- The columns of a table's view as they should be. An existing column keeps its place and its type,
-- so that the view can be replaced under its dependents. Only the column that is being promoted
-- gets the type that its fields have now. New views have the same order: first the original columns
-- of the table, then Fieldmirror's columns, then columns that were added later.
CREATE OR REPLACE FUNCTION sync.plan_mart_view(of_table text, promoting text)
RETURNS TABLE (name text, type text, expression text, comment text, was_type text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH present AS (
    SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, attnum
      FROM pg_attribute WHERE attrelid = to_regclass(format('mart.%I', of_table)) AND attnum > 0
      AND NOT attisdropped
  ), fixed AS (
    SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type,
      format('live.%I', attname) AS expression,
           col_description(attrelid, attnum) AS comment,
           CASE WHEN attnum > max(attnum) FILTER (WHERE attname = '_pending') OVER ()
                THEN attnum + 4000
                WHEN left(attname, 1) = '_' THEN attnum + 2000 ELSE attnum END AS place
      FROM pg_attribute
     WHERE attrelid = format('warehouse.%I', of_table)::regclass AND attnum > 0 AND NOT attisdropped
       AND (left(attname, 1) <> '_' OR attname IN ('_first_seen_at', '_changed_at', '_pending'))
       AND attname <> 'extra'
  ), promoted AS (
    SELECT field.promoted_as AS name,
           sync.promoted_type(array_agg(DISTINCT type) FILTER (WHERE type IS NOT NULL)) AS type,
           'Promoted from extra: ' || string_agg(DISTINCT field.field, ', ') || '.' AS comment
      FROM sync.fields AS field LEFT JOIN LATERAL unnest(field.types) AS type ON true
     WHERE field.table_name = of_table AND field.promoted_as IS NOT NULL
       AND field.promoted_as NOT IN (SELECT fixed.name FROM fixed)
     GROUP BY field.promoted_as
  ), typed AS (
    SELECT promoted.name, promoted.comment,
           CASE WHEN promoted.name IS DISTINCT FROM promoting AND present.name IS NOT NULL
             THEN present.type
                ELSE coalesce(promoted.type, 'text') END AS type
      FROM promoted LEFT JOIN present ON present.name = promoted.name
  ), wanted AS (
    SELECT name, type, expression, comment, place FROM fixed
     UNION ALL
    SELECT name, type, sync.promoted_expression(of_table, name, type), comment, 10000 FROM typed
  )
  SELECT wanted.name, wanted.type, wanted.expression, wanted.comment, present.type
    FROM wanted LEFT JOIN present ON present.name = wanted.name
   ORDER BY present.attnum NULLS LAST, wanted.place, wanted.name
$$;
COMMENT ON FUNCTION sync.plan_mart_view IS 'The columns of the view of a table as they should be.';

-- A record of the service has the number that the service gave it; a row that exists only here has
-- none. An assignment has no number: it is no record while it is pending and neither a sweep nor a
-- change has written it.
CREATE OR REPLACE FUNCTION sync.is_record(of_table text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(string_agg(format(' AND live.%I IS NOT NULL', attname), '' ORDER BY attnum), '')
         || CASE of_table WHEN 'job_employees'
           THEN ' AND NOT (live._pending IS TRUE AND num_nonnulls(live._sweep_id, live._change_id) '
           '= 0)' ELSE '' END
    FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
   WHERE conrelid = format('warehouse.%I', of_table)::regclass AND conname = of_table || '_key'
   AND attname <> 'account_id'
$$;
COMMENT ON FUNCTION sync.is_record
  IS 'The condition, as SQL, that a row of the table is a record of the service.';

-- Makes the view of one table as sync.fields wants it. New columns go to the end, in place. A
-- column that goes or changes its type needs another view: the old view is dropped, but never with
-- objects that others built on it, and grants are kept.
CREATE OR REPLACE FUNCTION sync.build_mart_view(of_table text, promoting text DEFAULT NULL)
  RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  view_name text := format('mart.%I', of_table);
  present text[];
  planned text[];
  body text;
  acl aclitem[];
  granted record;
  dependents text;
BEGIN
  -- One call at a time for a table. Entries of the feed that name the table are not held up.
  PERFORM FROM sync.captured_tables WHERE table_name = of_table FOR NO KEY UPDATE;
  SELECT array_agg(format('%I %s', attname, format_type(atttypid, atttypmod)) ORDER BY attnum)
  INTO present
    FROM pg_attribute WHERE attrelid = to_regclass(view_name) AND attnum > 0 AND NOT attisdropped;
  SELECT array_agg(format('%I %s', plan.name, plan.type)),
         string_agg(format('%s AS %I', plan.expression, plan.name), ', ')
    INTO planned, body
    FROM sync.plan_mart_view(of_table, promoting) AS plan;
  IF present IS NOT NULL AND planned[1:cardinality(present)] IS DISTINCT FROM present THEN
    SELECT relacl INTO acl FROM pg_class WHERE oid = view_name::regclass;
    BEGIN
      EXECUTE format('DROP VIEW %s', view_name);
    EXCEPTION WHEN dependent_objects_still_exist THEN
      GET STACKED DIAGNOSTICS dependents = PG_EXCEPTION_DETAIL;
      RAISE EXCEPTION USING ERRCODE = 'dependent_objects_still_exist',
        MESSAGE = format('%s: a column of it would be removed or change its type, but others '
          'depend on the view: %s', view_name,
                         replace(dependents, E'\n', '; ')),
        HINT = 'Drop them first, and make them again afterwards.';
    END;
  END IF;
  EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT %s FROM warehouse.%I AS live WHERE '
    'live._deleted_at IS NULL%s',
                 view_name, body, of_table, sync.is_record(of_table));
  FOR granted IN SELECT entry.privilege_type, entry.is_grantable,
                        CASE entry.grantee WHEN 0 THEN 'PUBLIC'
                          ELSE quote_ident(pg_get_userbyid(entry.grantee)) END AS grantee
                   FROM aclexplode(acl) AS entry
                   JOIN pg_class AS view ON view.oid = view_name::regclass
                   AND view.relowner <> entry.grantee
  LOOP
    EXECUTE format('GRANT %s ON %s TO %s%s', granted.privilege_type, view_name, granted.grantee,
                   CASE WHEN granted.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;
  PERFORM sync.comment_mart_view(of_table);
END $$;
COMMENT ON FUNCTION sync.build_mart_view
  IS 'Makes the view of one table again if it must; what others built on it is never dropped.';

CREATE OR REPLACE FUNCTION sync.comment_mart_view(of_table text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted record;
  view_comment text := coalesce(obj_description(format('warehouse.%I', of_table)::regclass,
    'pg_class') || ' ', '')
                       || 'Live records only: neither deleted rows, nor new ones that the '
                         'service does not have.';
BEGIN
  IF obj_description(format('mart.%I', of_table)::regclass, 'pg_class')
    IS DISTINCT FROM view_comment THEN
    EXECUTE format('COMMENT ON VIEW mart.%I IS %L', of_table, view_comment);
  END IF;
  FOR wanted IN
    SELECT plan.name, plan.comment
      FROM sync.plan_mart_view(of_table, NULL) AS plan
      JOIN pg_attribute AS held ON held.attrelid = format('mart.%I', of_table)::regclass
      AND held.attname = plan.name
     WHERE col_description(held.attrelid, held.attnum) IS DISTINCT FROM plan.comment
  LOOP
    EXECUTE format('COMMENT ON COLUMN mart.%I.%I IS %L', of_table, wanted.name, wanted.comment);
  END LOOP;
END $$;
COMMENT ON FUNCTION sync.comment_mart_view
  IS 'Gives the view of a table and its columns the comments of the table.';

-- Brings every view in line: to be called when the warehouse has new columns, or its columns new
-- comments. A migration that drops or retypes a warehouse column must drop the view before it, and
-- call this after it.
CREATE OR REPLACE FUNCTION sync.build_mart() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT sync.build_mart_view(relname) FROM pg_class
   WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r' ORDER BY relname;
  SELECT sync.build_mart_wanted()
$$;
COMMENT ON FUNCTION sync.build_mart IS 'Brings every view in mart in line with its table.';
