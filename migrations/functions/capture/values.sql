-- Refuses a value that the service cannot take. @param given - as text
CREATE OR REPLACE FUNCTION sync.check_value(of_table text, of_field text, of_kind text, given text,
  zone text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  name text := format('warehouse.%s.%s', of_table, of_field);
  moment timestamptz;
  bad text;
BEGIN
  IF given IS NULL THEN
    RETURN;
  ELSIF of_kind = 'text' THEN
    bad := substring(given FROM E'[\\u0001-\\u0008\\u000B\\u000C\\u000E-\\u001F\\uFFFE\\uFFFF]');
    IF bad IS NOT NULL THEN
      RAISE EXCEPTION '%: expected characters that XML has, got U+% at %', name,
        upper(lpad(to_hex(ascii(bad)), 4, '0')), position(bad IN given)
        USING ERRCODE = 'check_violation', HINT = 'Remove the character.';
    END IF;
  ELSIF of_kind = 'instant' THEN
    moment := given::timestamptz;
    IF NOT isfinite(moment) OR extract(year FROM moment AT TIME ZONE zone) NOT BETWEEN 2000 AND 2068
      THEN
      RAISE EXCEPTION '%: expected a year from 2000 to 2068, got another', name
        USING ERRCODE = 'check_violation',
          HINT = 'The service takes years of two digits, and 69 to 99 as 1969 to 1999. NULL says '
          'that there is none.';
    -- Clocks have been set back by half an hour to four hours.
    ELSIF EXISTS (SELECT FROM generate_series(15, 240, 15) AS minutes
                   WHERE (moment - make_interval(mins => minutes)) AT TIME ZONE zone = moment AT
                     TIME ZONE zone) THEN
      RAISE EXCEPTION '%: expected a time that can be said, got the second % in %', name,
        to_char(moment AT TIME ZONE zone, 'HH24:MI'), zone
        USING ERRCODE = 'check_violation',
          HINT = 'That day the clock shows this time twice, and the service takes it for the '
          'first. Choose another minute.';
    END IF;
  ELSIF of_kind = 'integer' THEN
    IF given::numeric < 1 THEN
      RAISE EXCEPTION '%: expected a number from 1 on, got %', name, given
        USING ERRCODE = 'check_violation';
    END IF;
  ELSIF of_kind = 'decimal' AND given !~ '^-?\d{1,30}(\.\d{1,30})?$' THEN
    RAISE EXCEPTION '%: expected a decimal number of at most 30 digits on either side of the '
      'point, got another', name
      USING ERRCODE = 'check_violation';
  END IF;
END
$$;
COMMENT ON FUNCTION sync.check_value IS 'Refuses a value that the service cannot take.';

-- Returns a wanted value without the parts that the author's program added by accident. The service
-- stores minutes, so seconds are removed. A decimal number may be the shortest text of a float. If
-- such a number ends at least four decimals earlier after rounding to the 15 digits that a float
-- holds for certain, it is rounded. So 0.1 + 0.2 is 0.3, and 1/3 stays as it is.
CREATE OR REPLACE FUNCTION sync.tidy_value(of_kind text, given jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
  SET extra_float_digits = 1 AS $$
DECLARE
  number numeric;
  rounded numeric;
BEGIN
  IF of_kind = 'instant' THEN
    RETURN coalesce(to_jsonb(date_trunc('minute', (given #>> '{}')::timestamptz)), given);
  ELSIF of_kind = 'decimal' AND given #>> '{}' ~ '^-?\d{1,15}\.\d{5,30}$' THEN
    number := given #>> '{}';
    rounded := trim_scale(number::float8::numeric);
    IF number::float8::text::numeric = number AND scale(rounded) <= scale(trim_scale(number)) - 4
      THEN
      RETURN to_jsonb(rounded);
    END IF;
  END IF;
  RETURN given;
END
$$;
COMMENT ON FUNCTION sync.tidy_value
  IS 'A wanted value without seconds, or without the noise of a float.';

-- The same for each field of a row that can be written. Null stays null.
CREATE OR REPLACE FUNCTION sync.tidy_row(of_table text, row_json jsonb) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT row_json || coalesce(jsonb_object_agg(field, sync.tidy_value(kind, row_json->field)), '{}')
  FROM sync.write_rules
   WHERE table_name = of_table AND kind IN ('instant', 'decimal') AND row_json->field <> 'null'
$$;
COMMENT ON FUNCTION sync.tidy_row IS 'A row with tidy values in the fields that can be written.';

-- Refuses a value with which the service accepts no record: null or white space in a required
-- field, and a number that is too small.
CREATE OR REPLACE FUNCTION sync.check_rule(rule sync.write_rules, given text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text := format('warehouse.%s.%s', rule.table_name, rule.field);
BEGIN
  IF rule.required AND coalesce(given, '') !~ '\S' THEN
    RAISE EXCEPTION '%: expected %, got %', name,
      CASE rule.kind WHEN 'text' THEN 'a text' WHEN 'instant' THEN 'a time' WHEN 'boolean'
        THEN 'true or false' ELSE 'a number' END,
      CASE WHEN given IS NULL THEN 'nothing' ELSE 'a blank one' END
      USING ERRCODE = 'check_violation', HINT = 'The service takes no record without it.';
  ELSIF rule.minimum IS NOT NULL AND given::numeric < rule.minimum THEN
    RAISE EXCEPTION '%: expected a number from % on, got %', name, rule.minimum, given
      USING ERRCODE = 'check_violation';
  END IF;
END
$$;
COMMENT ON FUNCTION sync.check_rule
  IS 'Refuses a value that is missing, blank or too small for the service.';

-- Some columns of a row as the texts in which changes are kept. If the session is in UTC, instants
-- are in UTC.
CREATE OR REPLACE FUNCTION sync.as_texts(row_json jsonb, names text[]) RETURNS jsonb
  LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
  SELECT coalesce(jsonb_object_agg(name, row_json->>name), '{}') FROM unnest(names) AS name;
END;
COMMENT ON FUNCTION sync.as_texts IS
  'Some columns of a row, as the texts in which changes are kept.';

CREATE OR REPLACE FUNCTION sync.refuse_column(of_table text, of_column text, why text,
  hint text DEFAULT '') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'warehouse.%.%: %', of_table, of_column, why
    USING ERRCODE = 'integrity_constraint_violation',
      HINT = coalesce(nullif(hint, ''), 'Leave it out.');
END
$$;
COMMENT ON FUNCTION sync.refuse_column IS 'Refuses a column by its name.';
