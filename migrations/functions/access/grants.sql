-- What the three roles may do. Called after every migration; again by hand after a role was made later.
CREATE OR REPLACE FUNCTION sync.grant_roles() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
  -- But not those of an extension, which may be somebody else's.
  functions text := (
    SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc
     WHERE pronamespace IN ('sync'::regnamespace, 'history'::regnamespace)
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e'));
BEGIN
  -- Two at once in this database would update the same rows of the catalogue.
  PERFORM pg_advisory_xact_lock(720368547, hashtext('sync.grant_roles'));
  -- They run as the owner of the schemas; a trigger needs no right on its function.
  EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', functions);
  -- A view runs its functions as the one who reads it: to whom a view of mart was granted, these are granted. They look at
  -- nothing but the text they are given.
  GRANT EXECUTE ON FUNCTION sync.read_integer(text), sync.read_decimal(text), sync.read_float(text),
    sync.read_boolean(text), sync.read_instant(text) TO PUBLIC;
  IF to_regrole('fieldmirror_reader') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA warehouse, history, mart TO fieldmirror_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA warehouse, history, mart TO fieldmirror_reader;
    FOR name IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'history'::regnamespace AND proname LIKE '%\_as\_of' LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO fieldmirror_reader', name);
    END LOOP;
  END IF;
  IF to_regrole('fieldmirror_author') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA warehouse, sync TO fieldmirror_author;
    GRANT SELECT ON ALL TABLES IN SCHEMA warehouse TO fieldmirror_author;
    GRANT INSERT, UPDATE, DELETE ON warehouse.customers, warehouse.customer_notes, warehouse.jobs, warehouse.job_employees,
      warehouse.job_charges, warehouse.time_entries, warehouse.job_notes, warehouse.employees, warehouse.tasks TO fieldmirror_author;
    GRANT SELECT ON sync.changes, sync.attempts, sync.conflicts, sync.write_rules TO fieldmirror_author;
    FOR name IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'sync'::regnamespace
       AND proname IN ('only_account', 'last_change', 'wait', 'hold_change', 'release_change', 'retry_change', 'cancel_change',
                       'resolve_change', 'set_employee_login')
    LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO fieldmirror_author', name);
    END LOOP;
  END IF;
  IF to_regrole('fieldmirror_worker') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA warehouse, history, mart, sync TO fieldmirror_worker;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA warehouse, history, mart, sync TO fieldmirror_worker;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA warehouse, history, mart, sync TO fieldmirror_worker;
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO fieldmirror_worker', functions);
  END IF;
END
$$;
COMMENT ON FUNCTION sync.grant_roles IS 'Gives fieldmirror_reader, fieldmirror_author and fieldmirror_worker what they may do; to be called again when one was made later.';
