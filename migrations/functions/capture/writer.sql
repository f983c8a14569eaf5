-- Nothing to call: who may execute it may write as a worker, and nobody else. The owner may, and fieldmirror_worker; a grant
-- follows the owner and survives a dump, as the name of a role in a trigger would not. A look at it costs 0.2 µs a row.
CREATE OR REPLACE FUNCTION sync.write_as_worker() RETURNS void LANGUAGE sql IMMUTABLE AS $$ $$;
COMMENT ON FUNCTION sync.write_as_worker IS 'Nothing to call: the right to execute it is the right to write what the service sent.';

-- Once a statement, for a message that says what to do: only a worker may say that it writes what the service sent
-- (`sweep`), or that it mends a row here, for as long as the service does not say otherwise (`repair`). Whoever says so
-- later, inside the statement, is an author to the triggers of each row.
CREATE OR REPLACE FUNCTION sync.check_writer() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := current_setting('fieldmirror.writer');
BEGIN
  IF writer NOT IN ('sweep', 'repair') THEN
    RAISE EXCEPTION 'fieldmirror.writer: expected sweep or repair, got %', quote_literal(writer) USING ERRCODE = 'invalid_parameter_value';
  ELSIF NOT has_function_privilege('sync.write_as_worker()', 'EXECUTE') THEN
    RAISE EXCEPTION 'fieldmirror.writer: only a worker may set it, got %', current_user
      USING ERRCODE = 'insufficient_privilege', HINT = 'RESET fieldmirror.writer, so that your changes go to the service.';
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.check_writer IS 'Trigger: only a worker may say that it writes what the service sent.';
