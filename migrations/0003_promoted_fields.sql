-- Promotion: a field that is kept in attributes becomes a named column of the view of its table in mart, by setting
-- promoted_as in sync.fields. Values stay where they are; the view reads them.
CREATE SCHEMA mart;
--> statement-breakpoint
COMMENT ON SCHEMA mart IS 'For BI tools: the live rows of each warehouse table, without our bookkeeping and with the promoted fields as columns.';
--> statement-breakpoint
-- What does not fit is NULL, never an error: one odd value must not break a view. Postgres 15 has no pg_input_is_valid,
-- and an exception block costs a subtransaction for every value, so each text is checked before it is cast. The bodies
-- are parsed here and now: no search_path of a reader changes what they mean.
CREATE FUNCTION sync.read_integer(value text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN value ~ '^[-+]?[0-9]{1,18}$' THEN value::bigint END;
--> statement-breakpoint
CREATE FUNCTION sync.read_decimal(value text) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length(value) <= 1000 AND value ~ '^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?$' THEN value::numeric END;
--> statement-breakpoint
CREATE FUNCTION sync.read_float(value text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN value ~ '^(NaN|[-+]?Infinity)$' THEN value::double precision
  WHEN sync.read_decimal(value) = 0 THEN 0::double precision
  WHEN abs(sync.read_decimal(value)) BETWEEN 1e-307 AND 1.7e308 THEN sync.read_decimal(value)::double precision
END;
--> statement-breakpoint
CREATE FUNCTION sync.read_boolean(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE value WHEN 'true' THEN true WHEN 'false' THEN false END;
--> statement-breakpoint
-- Only with an offset: without one it would mean another moment to every reader. The day is checked by counting from
-- the first of its month, because the cast refuses a 30th of February.
CREATE FUNCTION sync.read_instant(value text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
  WHEN value ~ '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[-+](0[0-9]|1[0-4]):[0-5][0-9])$'
    AND left(value, 4) <> '0000' THEN
    CASE WHEN substr(value, 9, 2)::integer
              <= extract(day FROM (left(value, 7) || '-01')::date + interval '1 month' - interval '1 day')
      THEN value::timestamptz
    END
END;
--> statement-breakpoint
-- The type of a promoted column, by all the types that its fields were sent with. Several kinds at once are text, which
-- every value fits.
CREATE FUNCTION sync.promoted_type(types text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN types = '{}' THEN 'text'
  WHEN types <@ '{integer}' THEN 'bigint'
  WHEN types <@ '{integer,float}' THEN 'double precision'
  WHEN types <@ '{integer,decimal,float}' THEN 'numeric'
  WHEN types <@ '{boolean}' THEN 'boolean'
  WHEN types <@ '{dateTime}' THEN 'timestamp with time zone'
  WHEN types <@ '{nested}' THEN 'jsonb'
  ELSE 'text'
END;
--> statement-breakpoint
-- One promoted column as an expression: the accounts may have promoted different fields under its name.
CREATE FUNCTION sync.promoted_expression(of_table text, of_name text, of_type text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cases text := '';
  held record;
  source text;
  reader text := CASE of_type
    WHEN 'bigint' THEN 'sync.read_integer' WHEN 'numeric' THEN 'sync.read_decimal'
    WHEN 'double precision' THEN 'sync.read_float' WHEN 'boolean' THEN 'sync.read_boolean'
    WHEN 'timestamp with time zone' THEN 'sync.read_instant' END;
BEGIN
  FOR held IN
    SELECT promoted.field, array_agg(promoted.account_id ORDER BY promoted.account_id) AS accounts,
           kept.attname IS NOT NULL AS is_column
      FROM sync.fields AS promoted
      -- A later version may give the field a column of its own: then its values are there.
      LEFT JOIN pg_attribute AS kept ON kept.attrelid = format('warehouse.%I', of_table)::regclass
                                    AND kept.attname = promoted.field AND kept.attnum > 0 AND NOT kept.attisdropped
     WHERE promoted.table_name = of_table AND promoted.promoted_as = of_name
     GROUP BY promoted.field, kept.attname ORDER BY promoted.field
  LOOP
    IF held.is_column THEN
      source := format('(to_jsonb(live.%I) ', held.field)
                || CASE of_type WHEN 'jsonb' THEN '#>' ELSE '#>>' END || ' ''{}'')';
    ELSE
      source := '(live.attributes ' || CASE of_type WHEN 'jsonb' THEN '->' ELSE '->>' END || format(' %L)', held.field);
    END IF;
    cases := cases || format(' WHEN live.account_id = ANY (%L::bigint[]) THEN %s', held.accounts,
                             CASE WHEN reader IS NULL THEN source ELSE format('%s(%s)', reader, source) END);
  END LOOP;
  RETURN format('CASE%s END', cases);
END $$;
--> statement-breakpoint
-- The columns of a table's view as they should be. A column that is there keeps its place and its type, so that the view
-- can be replaced under what stands on it; only the one that is being promoted takes the type that its fields have now.
CREATE FUNCTION sync.plan_mart_view(of_table text, promoting text)
RETURNS TABLE (name text, type text, expression text, comment text, was_type text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH present AS (
    SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, attnum
      FROM pg_attribute WHERE attrelid = to_regclass(format('mart.%I', of_table)) AND attnum > 0 AND NOT attisdropped
  ), fixed AS (
    SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, format('live.%I', attname) AS expression,
           col_description(attrelid, attnum) AS comment,
           CASE WHEN attname IN ('_first_seen_at', '_changed_at') THEN attnum + 2000 ELSE attnum END AS place
      FROM pg_attribute
     WHERE attrelid = format('warehouse.%I', of_table)::regclass AND attnum > 0 AND NOT attisdropped
       AND (left(attname, 1) <> '_' OR attname IN ('_first_seen_at', '_changed_at')) AND attname <> 'attributes'
  ), promoted AS (
    SELECT field.promoted_as AS name,
           sync.promoted_type(array_agg(DISTINCT type) FILTER (WHERE type IS NOT NULL)) AS type,
           'Promoted from attributes: ' || string_agg(DISTINCT field.field, ', ') || '.' AS comment
      FROM sync.fields AS field LEFT JOIN LATERAL unnest(field.types) AS type ON true
     WHERE field.table_name = of_table AND field.promoted_as IS NOT NULL
       AND field.promoted_as NOT IN (SELECT fixed.name FROM fixed)
     GROUP BY field.promoted_as
  ), typed AS (
    SELECT promoted.name, promoted.comment,
           CASE WHEN promoted.name IS DISTINCT FROM promoting AND present.name IS NOT NULL THEN present.type
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
--> statement-breakpoint
-- Makes the view of one table as sync.fields wants it. New columns go to the end, in place; a column that goes or changes
-- its type needs another view: the old one is dropped, but never with what others built on it, and grants are kept.
CREATE FUNCTION sync.build_mart_view(of_table text, promoting text DEFAULT NULL) RETURNS void
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
  PERFORM pg_advisory_xact_lock(720368547, hashtext('mart.' || of_table));
  SELECT array_agg(format('%I %s', attname, format_type(atttypid, atttypmod)) ORDER BY attnum) INTO present
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
        MESSAGE = format('%s: a column of it would go or change its type, but others stand on the view: %s', view_name,
                         replace(dependents, E'\n', '; ')),
        HINT = 'Drop them first, and make them again afterwards.';
    END;
  END IF;
  EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT %s FROM warehouse.%I AS live WHERE live._deleted_at IS NULL',
                 view_name, body, of_table);
  FOR granted IN SELECT entry.privilege_type, entry.is_grantable,
                        CASE entry.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(entry.grantee)) END AS grantee
                   FROM aclexplode(acl) AS entry
                   JOIN pg_class AS view ON view.oid = view_name::regclass AND view.relowner <> entry.grantee
  LOOP
    EXECUTE format('GRANT %s ON %s TO %s%s', granted.privilege_type, view_name, granted.grantee,
                   CASE WHEN granted.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;
  PERFORM sync.comment_mart_view(of_table);
END $$;
--> statement-breakpoint
CREATE FUNCTION sync.comment_mart_view(of_table text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted record;
  view_comment text := coalesce(obj_description(format('warehouse.%I', of_table)::regclass, 'pg_class') || ' ', '')
                       || 'Live rows only.';
BEGIN
  IF obj_description(format('mart.%I', of_table)::regclass, 'pg_class') IS DISTINCT FROM view_comment THEN
    EXECUTE format('COMMENT ON VIEW mart.%I IS %L', of_table, view_comment);
  END IF;
  FOR wanted IN
    SELECT plan.name, plan.comment
      FROM sync.plan_mart_view(of_table, NULL) AS plan
      JOIN pg_attribute AS held ON held.attrelid = format('mart.%I', of_table)::regclass AND held.attname = plan.name
     WHERE col_description(held.attrelid, held.attnum) IS DISTINCT FROM plan.comment
  LOOP
    EXECUTE format('COMMENT ON COLUMN mart.%I.%I IS %L', of_table, wanted.name, wanted.comment);
  END LOOP;
END $$;
--> statement-breakpoint
-- Brings every view in line: to be called when the warehouse has new columns, or its columns new comments. A migration
-- that drops or retypes a warehouse column must drop the view before it, and call this after it.
CREATE FUNCTION sync.build_mart() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT sync.build_mart_view(relname) FROM pg_class
   WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r' ORDER BY relname
$$;
--> statement-breakpoint
-- They run as the owner of the schemas: whoever may set promoted_as needs no right on mart, and nobody else calls them.
REVOKE EXECUTE ON FUNCTION sync.build_mart_view(text, text), sync.comment_mart_view(text), sync.build_mart() FROM PUBLIC;
--> statement-breakpoint
CREATE FUNCTION sync.check_promotion() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  field_name text := format('%s.%s of account %s', NEW.table_name, NEW.field, NEW.account_id);
  taken text;
BEGIN
  IF to_regclass(format('warehouse.%I', NEW.table_name)) IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE = format('promoted_as: there is no table warehouse.%s', NEW.table_name);
  ELSIF 'secret' = ANY (NEW.types) THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('promoted_as: %s is a secret, and secrets are not kept: there is nothing to promote', field_name);
  ELSIF NEW.column_name IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('promoted_as: %s has a column already: mart.%s.%s', field_name, NEW.table_name, NEW.column_name);
  ELSIF NEW.promoted_as !~ '^[a-z][a-z0-9_]{0,62}$' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_name',
      MESSAGE = format('promoted_as: expected a name of at most 63 small letters, digits and underscores, a letter first, got %L', NEW.promoted_as);
  ELSIF EXISTS (SELECT FROM pg_attribute WHERE attrelid = format('warehouse.%I', NEW.table_name)::regclass
                   AND attname = NEW.promoted_as AND attnum > 0 AND NOT attisdropped) THEN
    RAISE EXCEPTION USING ERRCODE = 'duplicate_column',
      MESSAGE = format('promoted_as: %L is a column of %s already; choose another name', NEW.promoted_as, NEW.table_name);
  END IF;
  SELECT field INTO taken FROM sync.fields
   WHERE account_id = NEW.account_id AND table_name = NEW.table_name AND promoted_as = NEW.promoted_as AND field <> NEW.field;
  IF taken IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'duplicate_column',
      MESSAGE = format('promoted_as: %L is taken by %s of the same account; choose another name', NEW.promoted_as, taken);
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE FUNCTION sync.apply_promotion() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM sync.build_mart_view(OLD.table_name);
  ELSE
    PERFORM sync.build_mart_view(NEW.table_name, NEW.promoted_as);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER fields_check_promotion BEFORE INSERT OR UPDATE OF promoted_as ON sync.fields
FOR EACH ROW WHEN (NEW.promoted_as IS NOT NULL) EXECUTE FUNCTION sync.check_promotion();
--> statement-breakpoint
CREATE TRIGGER fields_promoted_on_insert AFTER INSERT ON sync.fields
FOR EACH ROW WHEN (NEW.promoted_as IS NOT NULL) EXECUTE FUNCTION sync.apply_promotion();
--> statement-breakpoint
CREATE TRIGGER fields_promoted_on_update AFTER UPDATE OF promoted_as ON sync.fields
FOR EACH ROW WHEN (OLD.promoted_as IS NOT NULL OR NEW.promoted_as IS NOT NULL) EXECUTE FUNCTION sync.apply_promotion();
--> statement-breakpoint
CREATE TRIGGER fields_promoted_on_delete AFTER DELETE ON sync.fields
FOR EACH ROW WHEN (OLD.promoted_as IS NOT NULL) EXECUTE FUNCTION sync.apply_promotion();
--> statement-breakpoint
COMMENT ON FUNCTION sync.read_integer(text) IS 'The text as bigint; null where it is none.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.read_decimal(text) IS 'The text as numeric; null where it is none.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.read_float(text) IS 'The text as double precision; null where it is none, or too large or too small for it.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.read_boolean(text) IS 'true or false; null for any other text.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.read_instant(text) IS 'The text as an instant; null where it is none, or names no offset.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.promoted_type(text[]) IS 'The type of a promoted column, by all the types that its fields were sent with.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.promoted_expression(text, text, text) IS 'One promoted column of a table, as SQL: each account has promoted its own field under the name.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.plan_mart_view(text, text) IS 'The columns of the view of a table as they should be.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.build_mart_view(text, text) IS 'Makes the view of one table anew where it must; what others built on it is never dropped.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.comment_mart_view(text) IS 'Gives the view of a table and its columns the comments of the table.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.build_mart() IS 'Brings every view in mart in line with its table.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.check_promotion() IS 'Refuses a name that promoted_as cannot be, and says why.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.apply_promotion() IS 'Brings the view in mart in line with promoted_as.';
--> statement-breakpoint
SELECT sync.build_mart();
--> statement-breakpoint
-- The fields of records that were read before had nobody to note them: each record is parsed once more.
TRUNCATE sync.known_records;
