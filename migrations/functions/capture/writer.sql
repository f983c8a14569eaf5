-- Once a statement: only a worker may say that it writes what the service sent (`sweep`), or that it mends a row here, for
-- as long as the service does not say otherwise (`repair`).
CREATE OR REPLACE FUNCTION sync.check_writer() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := current_setting('fieldmirror.writer');
BEGIN
  IF writer NOT IN ('sweep', 'repair') THEN
    RAISE EXCEPTION 'fieldmirror.writer: expected sweep or repair, got %', quote_literal(writer) USING ERRCODE = 'invalid_parameter_value';
  ELSIF NOT (pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')
             OR to_regrole('fieldmirror_worker') IS NOT NULL AND pg_has_role(current_user, 'fieldmirror_worker', 'MEMBER')) THEN
    RAISE EXCEPTION 'fieldmirror.writer: only a worker may set it, got %', current_user
      USING ERRCODE = 'insufficient_privilege', HINT = 'RESET fieldmirror.writer, so that your changes go to the service.';
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.check_writer IS 'Trigger: only a worker may say that it writes what the service sent.';
