-- Postgres reads a time without a zone in the zone of the session, and a trigger cannot see whether
-- a value had a zone. If the session's zone is only the server's default, mostly UTC, 9:00 in the
-- account's zone would become 9:00 in another zone, without an error. Such a session may write a
-- time in two cases only. Either its clock and the account's show the same at that time, or the
-- statement itself shows that no time in it lacks its zone.

-- Whether a statement may hold a time without a zone: a parameter; a quoted day, with or without an
-- hour, and nothing after it; the type or a function that makes times without a zone. AT TIME ZONE
-- gives the zone. `$1` inside a quoted text is no parameter. What a function or a column of the
-- author's own tables holds cannot be seen.
CREATE OR REPLACE FUNCTION sync.may_lack_zone(statement text) RETURNS boolean
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT statement !~* '\mat\s+time\s+zone\M'
     AND (regexp_replace(statement, $re$'(?:[^']|'')*'$re$, '', 'g') ~ '\$\d'
          OR statement ~* ($re$'\s*(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|$re$ || months || $re$)$re$
            || $re$(?:[t\s]\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d*)?)?)?\s*(?:[ap]m)?\s*'$re$)
         OR statement ~* $re$'\s*\d{8}[t\s]\s*\d{1,2}:?\d{2}(?::?\d{2}(?:\.\d*)?)?\s*'$re$
         OR statement ~* ($re$\mtimestamp\M(?!\s*(?:\(\d\)\s*)?with\s+time)|\mlocaltimestamp\M|$re$
            || $re$\mmake_timestamp\s*\(|\mto_timestamp\s*\(\s*'$re$))
    FROM (VALUES ($re$(?:\d{1,2}[\s-])?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*$re$
      || $re$[\s.,-]+\d{1,4}(?:,?\s+\d{4})?$re$)) AS form (months)
$$;
COMMENT ON FUNCTION sync.may_lack_zone IS 'Whether a time of a statement may lack its zone.';

-- Refuses such a time. The result for a statement is kept for its other rows; a session that forges
-- it harms only itself. This function sets no TimeZone: it reads that of the session. In a function
-- that sets one, such as undo, the zone was chosen.
CREATE OR REPLACE FUNCTION sync.check_zone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here text := current_setting('TimeZone');
  zone text := (SELECT time_zone FROM sync.accounts WHERE account_id = NEW.account_id);
  statement text := format('%s %s', statement_timestamp(), here);
  field text;
BEGIN
  SELECT rule.field INTO field FROM sync.write_rules AS rule
   CROSS JOIN LATERAL (SELECT (to_jsonb(NEW)->>rule.field)::timestamptz AS moment) AS wanted
   WHERE rule.table_name = TG_TABLE_NAME AND rule.kind = 'instant'
   AND moment AT TIME ZONE here <> moment AT TIME ZONE zone
     AND (TG_OP = 'INSERT' OR moment IS DISTINCT FROM (to_jsonb(OLD)->>rule.field)::timestamptz)
   ORDER BY 1 LIMIT 1;
  IF field IS NULL OR current_setting('fieldmirror.zone_checked', true) = statement THEN
    RETURN NEW;
  ELSIF sync.may_lack_zone(current_query())
    AND (SELECT source FROM pg_settings WHERE name = 'TimeZone')
          IN ('default', 'environment variable', 'command line', 'configuration file', 'override')
            THEN
    RAISE EXCEPTION 'warehouse.%.%: expected a session that sets its time zone, got one in the '
      'zone of the server, %, with a time that may lack an offset',
        TG_TABLE_NAME, field, here
      USING ERRCODE = 'check_violation', HINT = format(
        'Times without a zone are in the zone of the session; the account''s is %s. SET TimeZone = '
          '%L if your times are local, or %L if each has its offset. ALTER ROLE %I IN DATABASE %I '
          'SET TimeZone = … says it once.',
        zone, zone, 'UTC', session_user, current_database());
  END IF;
  PERFORM set_config('fieldmirror.zone_checked', statement, true);
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.check_zone
  IS 'Trigger: refuses a time that may lack its zone, in a session whose zone no one chose and '
  'that is not the account''s.';
