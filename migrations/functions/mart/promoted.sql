-- The type of a promoted column, by all the types that its fields were sent with. Several kinds at
-- once are text, which every value fits.
CREATE OR REPLACE FUNCTION sync.promoted_type(types text[]) RETURNS text
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
COMMENT ON FUNCTION sync.promoted_type
  IS 'The type of a promoted column, by all the types that its fields were sent with.';

-- One promoted column as an expression: the accounts may have promoted different fields under its
-- name.
CREATE OR REPLACE FUNCTION sync.promoted_expression(of_table text, of_name text, of_type text)
  RETURNS text
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
      -- If a later version gives the field a separate column, its values are there.
      LEFT JOIN pg_attribute AS kept ON kept.attrelid = format('warehouse.%I', of_table)::regclass
                                    AND kept.attname = promoted.field AND kept.attnum > 0
                                    AND NOT kept.attisdropped
     WHERE promoted.table_name = of_table AND promoted.promoted_as = of_name
     GROUP BY promoted.field, kept.attname ORDER BY promoted.field
  LOOP
    IF held.is_column THEN
      source := format('(to_jsonb(live.%I) ', held.field)
                || CASE of_type WHEN 'jsonb' THEN '#>' ELSE '#>>' END || ' ''{}'')';
    ELSE
      source := '(live.extra ' || CASE of_type WHEN 'jsonb' THEN '->' ELSE '->>' END
        || format(' %L)', held.field);
    END IF;
    cases := cases || format(' WHEN live.account_id = ANY (%L::bigint[]) THEN %s', held.accounts,
                             CASE WHEN reader IS NULL THEN source
                               ELSE format('%s(%s)', reader, source) END);
  END LOOP;
  RETURN format('CASE%s END', cases);
END $$;
COMMENT ON FUNCTION sync.promoted_expression
  IS 'One promoted column of a table, as SQL: each account has promoted its own field under the '
  'name.';
