-- A text that does not fit is NULL, never an error: one odd value must not break a view. Postgres
-- 15 has no pg_input_is_valid, and an exception block costs a subtransaction for every value, so
-- each text is checked before it is cast. The bodies are parsed when the functions are made: no
-- search_path of a reader changes their meaning.
CREATE OR REPLACE FUNCTION sync.read_integer(value text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN value ~ '^[-+]?[0-9]{1,18}$' THEN value::bigint END;
COMMENT ON FUNCTION sync.read_integer IS 'The text as bigint; null if it is not one.';

CREATE OR REPLACE FUNCTION sync.read_decimal(value text) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length(value) <= 1000
  AND value ~ '^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?$' THEN value::numeric END;
COMMENT ON FUNCTION sync.read_decimal IS 'The text as numeric; null if it is not one.';

CREATE OR REPLACE FUNCTION sync.read_float(value text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN value ~ '^(NaN|[-+]?Infinity)$' THEN value::double precision
  WHEN sync.read_decimal(value) = 0 THEN 0::double precision
  WHEN abs(sync.read_decimal(value)) BETWEEN 1e-307 AND 1.7e308
  THEN sync.read_decimal(value)::double precision
END;
COMMENT ON FUNCTION sync.read_float
  IS 'The text as double precision; null if it is not one, or too large or too small for it.';

CREATE OR REPLACE FUNCTION sync.read_boolean(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE value WHEN 'true' THEN true WHEN 'false' THEN false END;
COMMENT ON FUNCTION sync.read_boolean IS 'true or false; null for any other text.';

-- An instant needs an offset: without one the text would mean another moment to every reader. The
-- day is checked by counting from the first of its month, because the cast refuses a 30th of
-- February.
CREATE OR REPLACE FUNCTION sync.read_instant(value text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
  WHEN value ~ ('^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
      'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?'
      '(Z|[-+](0[0-9]|1[0-4]):[0-5][0-9])$')
    AND left(value, 4) <> '0000' THEN
    CASE WHEN substr(value, 9, 2)::integer
              <= extract(day FROM (left(value, 7) || '-01')::date + interval '1 month' - interval
                '1 day')
      THEN value::timestamptz
    END
END;
COMMENT ON FUNCTION sync.read_instant
  IS 'The text as an instant; null if it is not one, or names no offset.';
