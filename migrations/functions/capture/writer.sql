-- The right to execute this function is the right to write as a worker; its body is empty. The
-- owner has the right, and fieldmirror_worker. A grant follows the owner and survives a dump; the
-- name of a role in a trigger would not. A check of the right costs 0.2 µs a row.
CREATE OR REPLACE FUNCTION sync.write_as_worker() RETURNS void LANGUAGE sql IMMUTABLE
BEGIN ATOMIC END;
COMMENT ON FUNCTION sync.write_as_worker
  IS 'Nothing to call: the right to execute it is the right to write what the service sent.';

-- Refuses fieldmirror.writer to any role but a worker, once per statement; the message explains
-- what to do. With `sweep` a worker writes records of the service. With `repair` a worker corrects
-- a row here, until the service sends another value. If any other role sets it later, inside the
-- statement, the triggers of each row treat that role as an author.
CREATE OR REPLACE FUNCTION sync.check_writer() RETURNS trigger
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := current_setting('fieldmirror.writer');
BEGIN
  IF writer NOT IN ('sweep', 'repair') THEN
    RAISE EXCEPTION 'fieldmirror.writer: expected sweep or repair, got %', quote_literal(writer)
      USING ERRCODE = 'invalid_parameter_value';
  ELSIF NOT has_function_privilege('sync.write_as_worker()', 'EXECUTE') THEN
    RAISE EXCEPTION 'fieldmirror.writer: only a worker may set it, got %', current_user
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'RESET fieldmirror.writer, so that your changes go to the service.';
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.check_writer
  IS 'Trigger: only a worker may say that it writes what the service sent.';
