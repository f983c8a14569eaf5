-- Changes made in the warehouse, by anyone but a worker that writes what the service sent, become rows of sync.changes in
-- the same transaction. A row shows what is wanted while its change is on its way: what a sweep brings meanwhile is written
-- around the fields under change, by a trigger, so no sweep can overwrite them, however it is timed.
-- Locks are taken in one order everywhere: the warehouse row, then its changes; a parent before what hangs on it.
-- Roles are the whole cluster's: another database of it may be making them at this moment.
DO $$
DECLARE
  role_name text;
BEGIN
  FOREACH role_name IN ARRAY ARRAY['fieldmirror_reader', 'fieldmirror_author', 'fieldmirror_worker'] LOOP
    BEGIN
      IF to_regrole(role_name) IS NULL THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
      END IF;
    EXCEPTION
      WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE WARNING 'role % was not made: let somebody who may run CREATE ROLE % NOLOGIN, then SELECT sync.grant_roles()', role_name, role_name;
    END;
  END LOOP;
END $$;
--> statement-breakpoint
-- What the three roles may do. Called after every migration; again by hand after a role was made later.
CREATE FUNCTION sync.grant_roles() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
--> statement-breakpoint
-- Once a statement: only a worker may say that it writes what the service sent (`sweep`), or that it mends a row here, for
-- as long as the service does not say otherwise (`repair`).
CREATE FUNCTION sync.check_writer() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
--> statement-breakpoint
CREATE FUNCTION sync.is_open(state text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict')
$$;
--> statement-breakpoint
-- What the open changes of a row want of its columns, the latest last; null when there is none.
CREATE FUNCTION sync.wanted_columns(of_table text, of_row bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted jsonb;
  change record;
BEGIN
  FOR change IN
    SELECT operation, fields - ARRAY['employee_ids', 'password'] AS fields, requested_at FROM sync.changes
     WHERE table_name = of_table AND row_id = of_row
       AND state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict') ORDER BY change_id
  LOOP
    wanted := coalesce(wanted, '{}') || CASE change.operation
      WHEN 'delete' THEN jsonb_build_object('_deleted_at', change.requested_at) ELSE change.fields END;
  END LOOP;
  RETURN wanted;
END
$$;
--> statement-breakpoint
-- The same of an assignment: whether the job's open changes want it.
CREATE FUNCTION sync.wanted_assignment(of_account bigint, of_job bigint, of_job_row bigint, of_employee bigint, gone_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('_deleted_at', CASE WHEN fields->'employee_ids' ? of_employee::text THEN NULL
                                                ELSE coalesce(gone_at, requested_at) END)
    FROM sync.changes
   WHERE table_name = 'jobs' AND fields ? 'employee_ids'
     AND row_id = coalesce(of_job_row, (SELECT row_id FROM warehouse.jobs WHERE account_id = of_account AND job_number = of_job))
     AND state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict')
   ORDER BY change_id DESC LIMIT 1
$$;
--> statement-breakpoint
-- What open changes want of a row as it stands; null when nothing.
CREATE FUNCTION sync.wanted(of_table text, held jsonb) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE of_table
    WHEN 'job_employees' THEN sync.wanted_assignment((held->>'account_id')::bigint, (held->>'job_number')::bigint,
      (held->>'parent_row_id')::bigint, (held->>'employee_id')::bigint, (held->>'_deleted_at')::timestamptz)
    ELSE sync.wanted_columns(of_table, (held->>'row_id')::bigint) END
$$;
--> statement-breakpoint
-- Before a worker writes what the service sent over a row with open changes: what they want stays.
CREATE FUNCTION sync.keep_wanted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wanted jsonb := sync.wanted(TG_TABLE_NAME, to_jsonb(OLD));
BEGIN
  -- That the service does not list an assignment which it has not been told of, says nothing.
  IF TG_TABLE_NAME = 'job_employees' AND NEW._deleted_at IS NOT NULL AND wanted->'_deleted_at' = 'null' AND OLD._deleted_at IS NULL THEN
    RETURN NULL;
  END IF;
  NEW := jsonb_populate_record(NEW, coalesce(wanted, '{}'));
  NEW._pending := CASE WHEN wanted IS NOT NULL THEN true END;
  RETURN NEW;
END
$$;
--> statement-breakpoint
-- Who deletes again what is being deleted, deletes nothing: it is sent once.
CREATE FUNCTION sync.keep_tombstone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE WHEN sync.wanted(TG_TABLE_NAME, to_jsonb(OLD))->>'_deleted_at' IS NULL THEN OLD END;
END
$$;
--> statement-breakpoint
-- Refuses a value that the service cannot take. @param given - as text
CREATE FUNCTION sync.check_value(of_table text, of_field text, of_kind text, given text, zone text) RETURNS void
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
      RAISE EXCEPTION '%: expected characters that XML has, got U+% at %', name, upper(lpad(to_hex(ascii(bad)), 4, '0')), position(bad IN given)
        USING ERRCODE = 'check_violation', HINT = 'Remove the character.';
    END IF;
  ELSIF of_kind = 'instant' THEN
    moment := given::timestamptz;
    IF NOT isfinite(moment) OR extract(year FROM moment AT TIME ZONE zone) NOT BETWEEN 2000 AND 2099 THEN
      RAISE EXCEPTION '%: expected a year from 2000 to 2099, got another', name
        USING ERRCODE = 'check_violation', HINT = 'The service takes years of two digits.';
    ELSIF moment <> date_trunc('minute', moment) THEN
      RAISE EXCEPTION '%: expected whole minutes, got seconds', name
        USING ERRCODE = 'check_violation', HINT = 'The service takes no seconds: use date_trunc(''minute'', …).';
    -- Clocks have been set back by half an hour to four hours.
    ELSIF EXISTS (SELECT FROM generate_series(15, 240, 15) AS minutes
                   WHERE (moment - make_interval(mins => minutes)) AT TIME ZONE zone = moment AT TIME ZONE zone) THEN
      RAISE EXCEPTION '%: expected a time that can be said, got the second % in %', name, to_char(moment AT TIME ZONE zone, 'HH24:MI'), zone
        USING ERRCODE = 'check_violation', HINT = 'That day the clock shows this time twice, and the service takes it for the first. Choose another minute.';
    END IF;
  ELSIF of_kind = 'integer' THEN
    IF given::numeric < 1 THEN
      RAISE EXCEPTION '%: expected a number from 1 on, got %', name, given USING ERRCODE = 'check_violation';
    END IF;
  ELSIF of_kind = 'decimal' AND given !~ '^-?\d{1,30}(\.\d{1,30})?$' THEN
    RAISE EXCEPTION '%: expected a decimal number of at most 30 digits on either side of the point, got another', name
      USING ERRCODE = 'check_violation';
  END IF;
END
$$;
--> statement-breakpoint
-- Some columns of a row as the texts in which changes are kept: instants in UTC, where the session is.
CREATE FUNCTION sync.as_texts(row_json jsonb, names text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(name, row_json->>name), '{}') FROM unnest(names) AS name
$$;
--> statement-breakpoint
CREATE FUNCTION sync.refuse_column(of_table text, of_column text, why text, hint text DEFAULT '') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'warehouse.%.%: %', of_table, of_column, why
    USING ERRCODE = 'integrity_constraint_violation', HINT = coalesce(nullif(hint, ''), 'Leave it out.');
END
$$;
--> statement-breakpoint
-- The last change that a statement of this session made, for sync.wait; null before the first.
CREATE FUNCTION sync.last_change() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT nullif(current_setting('fieldmirror.last_change', true), '')::bigint
$$;
--> statement-breakpoint
-- Lets go on what waited for a change: behind what that one itself waited for, if anything.
CREATE FUNCTION sync.free_waiting(settled bigint) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE sync.changes SET waits_for = (SELECT earlier.waits_for FROM sync.changes AS earlier WHERE earlier.change_id = settled)
   WHERE waits_for = settled
$$;
--> statement-breakpoint
CREATE FUNCTION sync.fingerprint(of_account bigint, of_table text, of_parent bigint, fields jsonb) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(concat_ws('/', of_account, of_table, of_parent, fields), 'UTF8'))
$$;
--> statement-breakpoint
-- Brings an edit into sync.changes: into the record's last change, where that is still unsent, or as a new one behind it.
-- The caller holds the lock of the row.
CREATE FUNCTION sync.record_change(
  of_account bigint, of_table text, of_row bigint, of_operation text, of_number bigint,
  edited jsonb, was jsonb, of_parent bigint DEFAULT NULL, of_key text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mode text := coalesce(current_setting('fieldmirror.mode', true), '');
  wanted_state text := CASE mode WHEN '' THEN 'pending' WHEN 'hold' THEN 'held' END;
  last sync.changes;
  blocker bigint;
  fixed text;
  made bigint;
BEGIN
  IF wanted_state IS NULL THEN
    RAISE EXCEPTION 'fieldmirror.mode: expected hold, or nothing, got %', quote_literal(mode)
      USING ERRCODE = 'invalid_parameter_value', HINT = 'RESET fieldmirror.mode sends what you change.';
  END IF;
  SELECT * INTO last FROM sync.changes
   WHERE table_name = of_table AND row_id = of_row AND state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict')
   ORDER BY change_id DESC LIMIT 1 FOR UPDATE;
  IF of_operation = 'update' AND last.state = wanted_state AND (last.lease_until IS NULL OR last.lease_until < clock_timestamp())
     AND (last.operation = 'update' OR last.operation = 'create' AND NOT EXISTS (
       SELECT FROM sync.write_rules WHERE table_name = of_table AND edited ? field AND NOT on_create)) THEN
    PERFORM sync.merge_change(last, edited, was);
    PERFORM set_config('fieldmirror.last_change', last.change_id::text, false);
    RETURN;
  END IF;
  IF of_operation = 'update' THEN
    SELECT field INTO fixed FROM sync.write_rules WHERE table_name = of_table AND edited ? field AND on_create AND NOT on_update;
    IF fixed IS NOT NULL THEN
      PERFORM sync.refuse_column(of_table, fixed, 'its create is on its way, and the service cannot change it afterwards', 'Create another record.');
    END IF;
  END IF;
  IF was ? 'employee_ids' THEN
    -- Before it was what an earlier change wants, for that one is on its way.
    was := was || coalesce((
      SELECT jsonb_build_object('employee_ids', fields->'employee_ids') FROM sync.changes
       WHERE table_name = of_table AND row_id = of_row AND fields ? 'employee_ids' AND sync.is_open(state)
       ORDER BY change_id DESC LIMIT 1), '{}');
  END IF;
  IF of_operation <> 'create' THEN
    blocker := last.change_id;
  ELSIF of_parent IS NOT NULL THEN
    SELECT CASE WHEN state <> 'done' THEN change_id END INTO blocker FROM sync.changes
     WHERE row_id = of_parent AND operation = 'create'
       AND table_name = CASE WHEN of_table IN ('jobs', 'customer_notes') THEN 'customers' ELSE 'jobs' END
     ORDER BY change_id DESC LIMIT 1;
  END IF;
  INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, parent_row_id, external_key, fields, base, state,
                            waits_for, fingerprint, application)
  VALUES (of_account, of_table, of_row, of_operation, of_number, of_parent, of_key, edited, was, wanted_state, blocker,
          CASE of_operation WHEN 'create' THEN sync.fingerprint(of_account, of_table, of_parent, edited) END,
          nullif(current_setting('application_name'), ''))
  RETURNING change_id INTO made;
  IF of_operation = 'create' THEN
    -- What waited for a create that failed, waits for the one that mends it.
    UPDATE sync.changes AS waiting SET waits_for = made FROM sync.changes AS failed
     WHERE failed.table_name = of_table AND failed.row_id = of_row AND failed.operation = 'create' AND failed.state = 'rejected'
       AND waiting.waits_for = failed.change_id;
  END IF;
  PERFORM set_config('fieldmirror.last_change', made::text, false);
END
$$;
--> statement-breakpoint
-- Brings an edit into an unsent change: the latest wish over the oldest base. A worker whose lease has run out must take it
-- up anew, or it would send what was wanted before.
CREATE FUNCTION sync.merge_change(held sync.changes, edited jsonb, was jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  merged jsonb := held.fields || edited;
  based jsonb := was || held.base;
BEGIN
  IF held.operation = 'create' THEN
    merged := jsonb_strip_nulls(CASE WHEN merged->'employee_ids' = '[]' THEN merged - 'employee_ids' ELSE merged END);
    based := '{}';
  ELSE
    IF was ? 'employee_ids' AND held.base ? 'employee_ids' THEN
      based := based || jsonb_build_object('employee_ids', (
        SELECT coalesce(jsonb_agg(DISTINCT id ORDER BY id), '[]')
          FROM jsonb_array_elements_text((was->'employee_ids') || (held.base->'employee_ids')) AS id));
    END IF;
    -- What was changed back needs no sending.
    SELECT coalesce(jsonb_object_agg(key, value), '{}') INTO merged FROM jsonb_each(merged) WHERE value IS DISTINCT FROM based->key;
    IF merged = '{}' THEN
      UPDATE sync.changes SET base = based, state = 'cancelled', settled_at = now(), lease_until = NULL,
             reason = 'changed back before it was sent'
       WHERE change_id = held.change_id;
      PERFORM sync.free_waiting(held.change_id);
      RETURN;
    END IF;
  END IF;
  UPDATE sync.changes
     SET fields = merged, base = based, fence = fence + num_nonnulls(lease_until), lease_until = NULL,
         fingerprint = CASE operation WHEN 'create' THEN sync.fingerprint(account_id, table_name, parent_row_id, merged) END
   WHERE change_id = held.change_id;
END
$$;
--> statement-breakpoint
-- The employees that the rows of job_employees assign to a job, by employees.id.
CREATE FUNCTION sync.assigned(of_account bigint, of_job_row bigint, of_job bigint) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_agg(DISTINCT employee_id::text ORDER BY employee_id::text), '[]') FROM warehouse.job_employees
   WHERE account_id = of_account AND (parent_row_id = of_job_row OR job_number = of_job) AND _deleted_at IS NULL
$$;
--> statement-breakpoint
-- A create of all that a row holds; again, where the service refused the first: what was to be changed behind that one
-- comes with it.
CREATE FUNCTION sync.record_create(of_table text, row_json jsonb, of_parent bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  of_account bigint := (row_json->>'account_id')::bigint;
  of_row bigint := (row_json->>'row_id')::bigint;
  names text[] := ARRAY(SELECT field FROM sync.write_rules WHERE table_name = of_table AND on_create);
  fields jsonb := jsonb_strip_nulls(sync.as_texts(row_json, names));
  later sync.changes;
BEGIN
  IF of_table = 'jobs' THEN
    fields := fields || coalesce((SELECT jsonb_build_object('employee_ids', ids) FROM sync.assigned(of_account, of_row, NULL) AS ids WHERE ids <> '[]'), '{}');
  END IF;
  FOR later IN SELECT * FROM sync.changes WHERE table_name = of_table AND row_id = of_row AND sync.is_open(state) ORDER BY change_id FOR UPDATE LOOP
    IF later.fields - names = '{}' THEN
      UPDATE sync.changes SET state = 'cancelled', settled_at = now(), reason = 'the record is created with it' WHERE change_id = later.change_id;
      PERFORM sync.free_waiting(later.change_id);
    ELSE
      UPDATE sync.changes SET fields = later.fields - names WHERE change_id = later.change_id;
    END IF;
  END LOOP;
  PERFORM sync.record_change(of_account, of_table, of_row, 'create', NULL, fields, '{}', of_parent, row_json->>'external_key');
END
$$;
--> statement-breakpoint
-- Whether a row without a number has nothing under way that will give it one: its create was refused.
CREATE FUNCTION sync.lacks_create(of_table text, of_row bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT NOT EXISTS (SELECT FROM sync.changes WHERE table_name = of_table AND row_id = of_row AND operation = 'create'
                        AND state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict'))
$$;
--> statement-breakpoint
-- What the refused creates of a row hung on.
CREATE FUNCTION sync.parent_of(of_table text, of_row bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT parent_row_id FROM sync.changes WHERE table_name = of_table AND row_id = of_row AND operation = 'create' ORDER BY change_id DESC LIMIT 1
$$;
--> statement-breakpoint
-- The job of an assignment, locked; of nulls when there is none.
CREATE FUNCTION sync.lock_job(link warehouse.job_employees) RETURNS warehouse.jobs
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT job.* FROM warehouse.jobs AS job
   WHERE job.account_id = link.account_id
     AND (job.row_id = link.parent_row_id OR link.parent_row_id IS NULL AND job.job_number = link.job_number)
   LIMIT 1 FOR NO KEY UPDATE
$$;
--> statement-breakpoint
-- Records that an employee was assigned to a job, or taken off. What an open change wants is what counts, and not the rows
-- alone: a sweep may have brought some that are to go. The caller holds the lock of the job.
CREATE FUNCTION sync.record_assignment(job warehouse.jobs, added bigint, removed bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  ids jsonb := (
    SELECT coalesce(jsonb_agg(DISTINCT id ORDER BY id), '[]')
      FROM jsonb_array_elements_text(coalesce(
             (SELECT fields->'employee_ids' || to_jsonb(array_remove(ARRAY[added::text], NULL)) FROM sync.changes
               WHERE table_name = 'jobs' AND row_id = job.row_id AND fields ? 'employee_ids' AND sync.is_open(state)
               ORDER BY change_id DESC LIMIT 1),
             sync.assigned(job.account_id, job.row_id, job.job_number))) AS id
     WHERE id IS DISTINCT FROM removed::text);
  was jsonb := '[]';
BEGIN
  IF job.job_number IS NULL AND sync.lacks_create('jobs', job.row_id) THEN
    PERFORM sync.record_create('jobs', to_jsonb(job), sync.parent_of('jobs', job.row_id));
  ELSE
    IF job.job_number IS NOT NULL THEN
      -- Before it were those that are here without being wanted here alone, and those that are deleted here and not yet there.
      SELECT coalesce(jsonb_agg(DISTINCT employee_id::text ORDER BY employee_id::text), '[]') INTO was
        FROM warehouse.job_employees
       WHERE account_id = job.account_id AND (parent_row_id = job.row_id OR job_number = job.job_number)
         AND CASE WHEN _deleted_at IS NULL THEN _pending IS NULL OR num_nonnulls(_sweep_id, _change_id) > 0 ELSE _pending END;
    END IF;
    PERFORM sync.record_change(job.account_id, 'jobs', job.row_id, 'update', job.job_number,
                               jsonb_build_object('employee_ids', ids), jsonb_build_object('employee_ids', was), NULL, job.external_key);
  END IF;
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  UPDATE warehouse.jobs SET _pending = CASE WHEN sync.wanted_columns('jobs', job.row_id) IS NOT NULL THEN true END
   WHERE row_id = job.row_id AND _pending IS DISTINCT FROM CASE WHEN sync.wanted_columns('jobs', job.row_id) IS NOT NULL THEN true END;
  -- All of them, those that stay as well: they are one field.
  IF sync.wanted_assignment(job.account_id, job.job_number, job.row_id, 0, NULL) IS NULL THEN
    UPDATE warehouse.job_employees SET _pending = NULL
     WHERE account_id = job.account_id AND (parent_row_id = job.row_id OR job_number = job.job_number) AND _pending;
  ELSE
    UPDATE warehouse.job_employees SET _pending = true
     WHERE account_id = job.account_id AND (parent_row_id = job.row_id OR job_number = job.job_number)
       AND _pending IS NULL AND _deleted_at IS NULL;
  END IF;
  PERFORM set_config('fieldmirror.writer', '', true);
END
$$;
--> statement-breakpoint
-- Refuses what an author may not give to a new row.
CREATE FUNCTION sync.check_new_row(of_table text, row_json jsonb, key text, parent_number text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  zone text;
  given record;
BEGIN
  SELECT time_zone INTO zone FROM sync.accounts WHERE account_id = (row_json->>'account_id')::bigint;
  IF zone IS NULL THEN
    RAISE EXCEPTION 'warehouse.%.account_id: expected an account, got %', of_table, row_json->>'account_id' USING ERRCODE = 'foreign_key_violation';
  ELSIF row_json->>'_pending' IS NULL THEN
    PERFORM sync.refuse_column(of_table, '_pending', 'the column is Fieldmirror''s own');
  END IF;
  FOR given IN
    SELECT cell.key AS name, cell.value, rule.kind, rule.on_create, rule.on_update FROM jsonb_each_text(row_json) AS cell
      LEFT JOIN sync.write_rules AS rule ON rule.table_name = of_table AND rule.field = cell.key
     WHERE cell.value IS NOT NULL AND cell.key NOT IN ('row_id', 'account_id', 'external_key', 'parent_row_id', '_pending')
  LOOP
    IF given.on_create THEN
      PERFORM sync.check_value(of_table, given.name, given.kind, given.value, zone);
    ELSIF given.name IN ('_first_seen_at', '_changed_at') AND given.value::timestamptz = now()
       OR given.name = 'attributes' AND given.value = '{}' OR given.name = parent_number THEN
      CONTINUE;
    ELSIF of_table = 'job_employees' AND given.name = 'employee_id' THEN
      PERFORM sync.check_value(of_table, given.name, 'integer', given.value, zone);
    ELSIF given.name = key THEN
      PERFORM sync.refuse_column(of_table, given.name, 'the service gives the number', 'Leave it out; external_key holds a key of your own.');
    ELSIF left(given.name, 1) = '_' OR given.name = 'attributes' THEN
      PERFORM sync.refuse_column(of_table, given.name, 'the column is Fieldmirror''s own');
    ELSIF NOT (given.on_create OR given.on_update) THEN
      PERFORM sync.refuse_column(of_table, given.name, 'a login is set with its password',
                                 'SELECT * FROM sync.set_employee_login(employee_number, username, password), once the employee has a number.');
    ELSIF NOT given.on_create THEN
      PERFORM sync.refuse_column(of_table, given.name, 'the service does not take it with a new record', 'Set it afterwards, by an UPDATE.');
    ELSE
      PERFORM sync.refuse_column(of_table, given.name, 'the service does not let it be written');
    END IF;
  END LOOP;
END
$$;
--> statement-breakpoint
-- An INSERT by an author. Arguments of this and of the next two: the key column, the operations that the service knows, the
-- parent's table, the column with its number, a hint. Afterwards, so that a row and its parent may come in one statement.
CREATE FUNCTION sync.capture_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  row_json jsonb := to_jsonb(NEW);
  given_number bigint := (row_json->>TG_ARGV[3])::bigint;
  parent record;
  parent_row bigint;
BEGIN
  IF TG_ARGV[1] NOT LIKE '%create%' THEN
    RAISE EXCEPTION 'warehouse.%: the service cannot create one', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', HINT = TG_ARGV[4];
  END IF;
  PERFORM sync.check_new_row(TG_TABLE_NAME, row_json, TG_ARGV[0], TG_ARGV[3]);
  IF TG_ARGV[2] <> '' THEN
    -- Locked until the end: neither is the parent deleted meanwhile, nor is its create settled unseen by this one.
    EXECUTE format('SELECT row_id, %1$I AS number, _deleted_at FROM warehouse.%2$I
                     WHERE account_id = $1 AND (row_id = $2 OR $2 IS NULL AND %1$I = $3) FOR KEY SHARE', TG_ARGV[3], TG_ARGV[2])
       INTO parent USING NEW.account_id, NEW.parent_row_id, given_number;
    IF parent.row_id IS NULL OR parent._deleted_at IS NOT NULL OR given_number IS NOT NULL AND given_number IS DISTINCT FROM parent.number THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, TG_ARGV[3], format('expected one of the live %s of this account, got %s', TG_ARGV[2],
                                 coalesce(given_number::text, 'row ' || NEW.parent_row_id, 'nothing')),
                                 format('Give the number of one, or its row_id in warehouse.%s as parent_row_id.', TG_ARGV[2]));
    END IF;
    parent_row := parent.row_id;
  ELSIF NEW.parent_row_id IS NOT NULL THEN
    PERFORM sync.refuse_column(TG_TABLE_NAME, 'parent_row_id', 'the record hangs on no other');
  END IF;
  PERFORM sync.record_create(TG_TABLE_NAME, row_json, parent_row);
  RETURN NULL;
END
$$;
--> statement-breakpoint
-- An UPDATE by an author; the row is locked by then.
CREATE FUNCTION sync.capture_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  was jsonb := to_jsonb(OLD);
  now_json jsonb := to_jsonb(NEW);
  number bigint := (was->>TG_ARGV[0])::bigint;
  zone text := (SELECT time_zone FROM sync.accounts WHERE account_id = OLD.account_id);
  cell record;
  names text[] := '{}';
  groups text[] := '{}';
  hint text := CASE WHEN TG_ARGV[1] LIKE '%update%' THEN '' ELSE TG_ARGV[4] END;
BEGIN
  FOR cell IN
    SELECT held.key AS name, rule.* FROM jsonb_each(now_json) AS held
      LEFT JOIN sync.write_rules AS rule ON rule.table_name = TG_TABLE_NAME AND rule.field = held.key
     WHERE held.value IS DISTINCT FROM was->held.key AND held.key <> 'external_key'
  LOOP
    IF cell.on_update OR cell.on_create AND number IS NULL THEN
      PERFORM sync.check_value(TG_TABLE_NAME, cell.name, cell.kind, now_json->>cell.name, zone);
      names := names || cell.name;
      groups := groups || cell.field_group;
    ELSIF cell.name = '_deleted_at' THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'the column is Fieldmirror''s own',
                                 'DELETE the row to delete the record at the service; sync.cancel_change takes back what was not sent.');
    ELSIF left(cell.name, 1) = '_' OR cell.name IN ('row_id', 'account_id', 'parent_row_id', 'attributes') THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'the column is Fieldmirror''s own');
    ELSIF NOT (cell.on_create OR cell.on_update) THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'a login is set with its password',
                                 'SELECT * FROM sync.set_employee_login(employee_number, username, password).');
    ELSIF cell.on_create THEN
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'the service cannot change it once the record is there', hint);
    ELSE
      PERFORM sync.refuse_column(TG_TABLE_NAME, cell.name, 'the service does not let it be written', hint);
    END IF;
  END LOOP;
  IF names = '{}' THEN
    RETURN NEW;
  ELSIF OLD._deleted_at IS NOT NULL THEN
    RAISE EXCEPTION 'warehouse.%, row %: the record is deleted', TG_TABLE_NAME, OLD.row_id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF number IS NULL AND sync.lacks_create(TG_TABLE_NAME, OLD.row_id) THEN
    -- Its create was refused: mended, it is a new one. It hangs on what the refused one hung on.
    PERFORM sync.record_create(TG_TABLE_NAME, now_json, coalesce(sync.parent_of(TG_TABLE_NAME, OLD.row_id), OLD.parent_row_id));
  ELSE
    PERFORM sync.record_change(
      OLD.account_id, TG_TABLE_NAME, OLD.row_id, 'update', number, sync.as_texts(now_json, names),
      sync.as_texts(was, ARRAY(SELECT field FROM sync.write_rules
                                WHERE table_name = TG_TABLE_NAME AND (field = ANY (names) OR field_group = ANY (groups)))),
      NULL, NEW.external_key);
  END IF;
  NEW._pending := CASE WHEN EXISTS (SELECT FROM sync.changes WHERE table_name = TG_TABLE_NAME AND row_id = OLD.row_id AND sync.is_open(state)) THEN true END;
  RETURN NEW;
END
$$;
--> statement-breakpoint
-- A DELETE by an author. The row comes back as a tombstone, with the same row_id, until the service has deleted the
-- record; one that the service never knew goes for good, and its create with it.
CREATE FUNCTION sync.capture_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  number bigint := (to_jsonb(OLD)->>TG_ARGV[0])::bigint;
  change sync.changes;
  is_on_its_way boolean := false;
  before jsonb := '{}';
BEGIN
  IF OLD._deleted_at IS NOT NULL AND OLD._pending IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM FROM sync.changes WHERE table_name = TG_TABLE_NAME AND row_id = OLD.row_id AND sync.is_open(state) ORDER BY change_id FOR UPDATE;
  FOR change IN
    SELECT * FROM sync.changes WHERE table_name = TG_TABLE_NAME AND row_id = OLD.row_id AND sync.is_open(state) ORDER BY change_id DESC
  LOOP
    -- Of a create that a person must settle, nobody knows whether the record is there.
    IF change.state IN ('sending', 'in_doubt') OR change.lease_until > clock_timestamp() OR change.state = 'conflict' AND change.operation = 'create' THEN
      is_on_its_way := true;
    ELSE
      PERFORM sync.close_change(change.change_id, 'cancelled', 'the row was deleted before it was sent');
      before := before || (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(change.base) WHERE change.fields ? key);
    END IF;
  END LOOP;
  IF number IS NULL AND NOT is_on_its_way THEN
    PERFORM sync.forget_row(TG_TABLE_NAME, OLD.row_id);
    RETURN NULL;
  ELSIF TG_ARGV[1] NOT LIKE '%delete%' THEN
    RAISE EXCEPTION 'warehouse.%: the service cannot delete one', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', HINT = TG_ARGV[4];
  ELSIF OLD._deleted_at IS NOT NULL AND NOT is_on_its_way THEN
    -- The service has deleted it, and what was still to be changed of it is given up.
    RETURN NULL;
  END IF;
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  EXECUTE format('INSERT INTO warehouse.%I OVERRIDING SYSTEM VALUE SELECT kept.* FROM jsonb_populate_record($1, $2) AS kept', TG_TABLE_NAME)
    USING OLD, before || jsonb_build_object('_deleted_at', coalesce(OLD._deleted_at, now()), '_pending', true, '_sweep_id', NULL, '_page', NULL,
                                            '_change_id', NULL, '_changed_at', greatest(now(), OLD._changed_at + interval '1 microsecond'));
  PERFORM set_config('fieldmirror.writer', '', true);
  IF OLD._deleted_at IS NULL THEN
    PERFORM sync.record_change(OLD.account_id, TG_TABLE_NAME, OLD.row_id, 'delete', number, '{}', '{}', NULL, OLD.external_key);
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
-- Before an author assigns an employee: the row says which job it is, by its row and by its number. Who is assigned again
-- was assigned before: the tombstone makes room.
CREATE FUNCTION sync.complete_assignment() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  job warehouse.jobs := sync.lock_job(NEW);
BEGIN
  NEW.parent_row_id := coalesce(NEW.parent_row_id, job.row_id);
  NEW.job_number := coalesce(NEW.job_number, job.job_number);
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  DELETE FROM warehouse.job_employees
   WHERE account_id = NEW.account_id AND job_number = NEW.job_number AND employee_id = NEW.employee_id AND _deleted_at IS NOT NULL;
  PERFORM set_config('fieldmirror.writer', '', true);
  RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE FUNCTION sync.capture_assign() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  job warehouse.jobs := sync.lock_job(NEW);
BEGIN
  PERFORM sync.check_new_row(TG_TABLE_NAME, to_jsonb(NEW), '', 'job_number');
  IF job.row_id IS NULL OR job._deleted_at IS NOT NULL OR NEW.job_number IS DISTINCT FROM job.job_number THEN
    PERFORM sync.refuse_column('job_employees', 'job_number', format('expected one of the live jobs of this account, got %s',
                               coalesce(NEW.job_number::text, 'row ' || NEW.parent_row_id, 'nothing')),
                               'Give the number of one, or its row_id in warehouse.jobs as parent_row_id.');
  ELSIF NEW.employee_id IS NULL THEN
    PERFORM sync.refuse_column('job_employees', 'employee_id', 'expected the id of an employee, got null', 'employees.id has it.');
  END IF;
  PERFORM sync.record_assignment(job, NEW.employee_id, NULL);
  RETURN NULL;
END
$$;
--> statement-breakpoint
-- As with any DELETE, the row comes back as a tombstone; but not one that was wanted here alone, or of a job that is gone.
CREATE FUNCTION sync.capture_unassign() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  job warehouse.jobs := sync.lock_job(OLD);
BEGIN
  IF OLD._deleted_at IS NOT NULL OR job.row_id IS NULL OR job._deleted_at IS NOT NULL THEN
    RETURN NULL;
  END IF;
  IF job.job_number IS NOT NULL AND (OLD._pending IS NULL OR num_nonnulls(OLD._sweep_id, OLD._change_id) > 0 OR EXISTS (
       SELECT FROM sync.changes WHERE table_name = 'jobs' AND row_id = job.row_id AND sync.is_open(state)
          AND base->'employee_ids' ? OLD.employee_id::text)) THEN
    PERFORM set_config('fieldmirror.writer', 'sweep', true);
    INSERT INTO warehouse.job_employees OVERRIDING SYSTEM VALUE
    SELECT kept.* FROM jsonb_populate_record(OLD, jsonb_build_object(
             '_deleted_at', now(), '_pending', true, '_sweep_id', NULL, '_page', NULL, '_change_id', NULL,
             '_changed_at', greatest(now(), OLD._changed_at + interval '1 microsecond'))) AS kept;
    PERFORM set_config('fieldmirror.writer', '', true);
  END IF;
  PERFORM sync.record_assignment(job, NULL, OLD.employee_id);
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE FUNCTION sync.refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'warehouse.%: TRUNCATE would delete every record at the service', TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation', HINT = 'DELETE the rows you mean, or SET fieldmirror.writer = ''repair'' to empty the table here only.';
END
$$;
--> statement-breakpoint
-- Makes the triggers of one warehouse table. A BEFORE trigger for each inserted row would stop COPY from writing many rows
-- at once, so that a new row is pending by the column's default; only assignments cannot do without one.
-- @param operations - what the service can do to its records, beside reading them
CREATE FUNCTION sync.capture(of_table text, key text, operations text, parent text DEFAULT '', parent_number text DEFAULT '', hint text DEFAULT '')
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  target text := format('warehouse.%I', of_table);
  arguments text := format('%L, %L, %L, %L, %L', key, operations, parent, parent_number, hint);
  writer text := 'coalesce(current_setting(''fieldmirror.writer'', true), '''')';
  is_link boolean := of_table = 'job_employees';
BEGIN
  EXECUTE format('ALTER TABLE %s ALTER COLUMN _pending SET DEFAULT nullif(%s = '''', false)', target, writer);
  EXECUTE format('CREATE OR REPLACE TRIGGER a_check_writer BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT
    WHEN (%s <> '''') EXECUTE FUNCTION sync.check_writer()', target, writer);
  -- By its name after history_insert: what it writes into the new row is a later version.
  EXECUTE format('CREATE OR REPLACE TRIGGER record_insert AFTER INSERT ON %s FOR EACH ROW
    WHEN (%s = '''') EXECUTE FUNCTION sync.%I(%s)', target, writer, CASE WHEN is_link THEN 'capture_assign' ELSE 'capture_insert' END, arguments);
  EXECUTE format('CREATE OR REPLACE TRIGGER capture_update BEFORE UPDATE ON %s FOR EACH ROW
    WHEN (%s = '''') EXECUTE FUNCTION sync.capture_update(%s)', target, writer, arguments);
  EXECUTE format('CREATE OR REPLACE TRIGGER capture_delete AFTER DELETE ON %s FOR EACH ROW
    WHEN (%s = '''') EXECUTE FUNCTION sync.%I(%s)', target, writer, CASE WHEN is_link THEN 'capture_unassign' ELSE 'capture_delete' END, arguments);
  EXECUTE format('CREATE OR REPLACE TRIGGER capture_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT
    WHEN (%s NOT IN (''sweep'', ''repair'')) EXECUTE FUNCTION sync.refuse_truncate()', target, writer);
  EXECUTE format('CREATE OR REPLACE TRIGGER keep_tombstone BEFORE DELETE ON %s FOR EACH ROW
    WHEN (OLD._pending AND OLD._deleted_at IS NOT NULL AND %s = '''') EXECUTE FUNCTION sync.keep_tombstone()', target, writer);
  EXECUTE format('CREATE OR REPLACE TRIGGER keep_wanted BEFORE UPDATE ON %s FOR EACH ROW
    WHEN (OLD._pending AND %s = ''sweep'') EXECUTE FUNCTION sync.keep_wanted()', target, writer);
END
$$;
--> statement-breakpoint
CREATE TRIGGER complete_assignment BEFORE INSERT ON warehouse.job_employees FOR EACH ROW
  WHEN (coalesce(current_setting('fieldmirror.writer', true), '') = '') EXECUTE FUNCTION sync.complete_assignment();
--> statement-breakpoint
-- Removes what the service never knew: a row that was never created, and what was to hang on it.
CREATE FUNCTION sync.forget_row(of_table text, of_row bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  waiting sync.changes;
BEGIN
  -- One at a time: to end one may let another wait for the same create.
  LOOP
    SELECT change.* INTO waiting FROM sync.changes AS made JOIN sync.changes AS change ON change.waits_for = made.change_id
     WHERE made.table_name = of_table AND made.row_id = of_row AND made.operation = 'create' AND sync.is_open(change.state)
     ORDER BY change.change_id DESC LIMIT 1;
    EXIT WHEN waiting.change_id IS NULL;
    EXECUTE format('SELECT FROM warehouse.%I WHERE row_id = $1 FOR UPDATE', waiting.table_name) USING waiting.row_id;
    PERFORM sync.close_change(waiting.change_id, 'cancelled', format('it waited for change %s, which came to nothing', waiting.waits_for));
  END LOOP;
  -- Not as a sweep: history says who it was.
  PERFORM set_config('fieldmirror.writer', 'repair', true);
  IF of_table = 'jobs' THEN
    DELETE FROM warehouse.job_employees WHERE parent_row_id = of_row AND job_number IS NULL;
  END IF;
  EXECUTE format('DELETE FROM warehouse.%I WHERE row_id = $1', of_table) USING of_row;
  PERFORM set_config('fieldmirror.writer', writer, true);
END
$$;
--> statement-breakpoint
-- Ends a change that will not be sent, or that the service refused. The row gets back what it held before, under what other
-- open changes want; nobody knows what the service holds by now, so the record is read again. The row of a create that was
-- refused stays, to be mended or deleted.
CREATE FUNCTION sync.close_change(closing bigint, closed_as text, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  change sync.changes;
BEGIN
  UPDATE sync.changes SET state = closed_as, reason = why, settled_at = now(), lease_until = NULL WHERE change_id = closing RETURNING * INTO change;
  UPDATE sync.conflicts SET winner = 'service', decided_at = now(), decided_by = session_user WHERE change_id = closing AND winner IS NULL;
  IF change.operation <> 'create' THEN
    PERFORM sync.free_waiting(closing);
    PERFORM sync.rebase_later(change, change.base);
    PERFORM sync.restore_row(change);
  ELSIF closed_as = 'cancelled' OR EXISTS (
    SELECT FROM sync.changes WHERE table_name = change.table_name AND row_id = change.row_id AND operation = 'delete' AND sync.is_open(state)) THEN
    PERFORM sync.forget_row(change.table_name, change.row_id);
  ELSE
    PERFORM set_config('fieldmirror.writer', 'sweep', true);
    EXECUTE format('UPDATE warehouse.%I SET _pending = NULL WHERE row_id = $1 AND _pending', change.table_name) USING change.row_id;
    IF change.table_name = 'jobs' THEN
      UPDATE warehouse.job_employees SET _pending = NULL WHERE parent_row_id = change.row_id AND _pending;
    END IF;
    PERFORM set_config('fieldmirror.writer', writer, true);
  END IF;
END
$$;
--> statement-breakpoint
-- What comes later on a record was changed from a value that never was: up to the next wish for the same field.
CREATE FUNCTION sync.rebase_later(change sync.changes, given jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  left_over jsonb := (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(given) WHERE change.fields ? key);
  later sync.changes;
BEGIN
  FOR later IN
    SELECT * FROM sync.changes WHERE table_name = change.table_name AND row_id = change.row_id AND change_id > change.change_id AND sync.is_open(state)
     ORDER BY change_id FOR UPDATE
  LOOP
    UPDATE sync.changes SET base = base || (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(left_over) WHERE later.base ? key)
     WHERE change_id = later.change_id;
    left_over := left_over - ARRAY(SELECT jsonb_object_keys(later.fields));
  END LOOP;
END
$$;
--> statement-breakpoint
-- Writes what a change was made from back into its row; the trigger keeps what other open changes want.
CREATE FUNCTION sync.restore_row(change sync.changes) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  back jsonb := CASE change.operation WHEN 'delete' THEN '{"_deleted_at": null}' ELSE
    (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(change.base) WHERE change.fields ? key AND key <> 'employee_ids') END;
  stream_name text := CASE WHEN change.table_name = 'customer_notes' THEN 'customers'
                           WHEN change.table_name IN ('job_notes', 'time_entries', 'job_charges') THEN 'jobs' ELSE change.table_name END;
  names text := (SELECT string_agg(format('%1$I = (jsonb_populate_record(held, $2)).%1$I', key), ', ') FROM jsonb_object_keys(back) AS key
                  WHERE key IN (SELECT attname FROM pg_attribute WHERE attrelid = format('warehouse.%I', change.table_name)::regclass));
  record_number bigint := change.number;
BEGIN
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  EXECUTE format('UPDATE warehouse.%I AS held SET %s _hash = NULL WHERE row_id = $1', change.table_name, coalesce(names || ',', ''))
    USING change.row_id, back;
  IF change.fields ? 'employee_ids' THEN
    UPDATE warehouse.job_employees
       SET _deleted_at = CASE WHEN change.base->'employee_ids' ? employee_id::text THEN NULL ELSE coalesce(_deleted_at, now()) END, _hash = NULL
     WHERE account_id = change.account_id AND (parent_row_id = change.row_id OR job_number = change.number) AND _pending;
  END IF;
  PERFORM set_config('fieldmirror.writer', writer, true);
  IF stream_name <> change.table_name THEN
    EXECUTE format('SELECT %I FROM warehouse.%I WHERE row_id = $1', CASE stream_name WHEN 'jobs' THEN 'job_number' ELSE 'customer_number' END, change.table_name)
       INTO record_number USING change.row_id;
  END IF;
  DELETE FROM sync.known_records WHERE account_id = change.account_id AND stream = stream_name AND number = record_number;
END
$$;
--> statement-breakpoint
-- Refuses to touch a change that is not in one of some states, or that a worker has.
CREATE FUNCTION sync.lock_change(wanted bigint, allowed text[], verb text) RETURNS sync.changes
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes;
BEGIN
  SELECT * INTO change FROM sync.changes WHERE change_id = wanted;
  IF change.change_id IS NULL THEN
    RAISE EXCEPTION 'change %: there is none of that number', wanted USING ERRCODE = 'no_data_found';
  END IF;
  EXECUTE format('SELECT FROM warehouse.%I WHERE row_id = $1 FOR UPDATE', change.table_name) USING change.row_id;
  SELECT * INTO change FROM sync.changes WHERE change_id = wanted FOR UPDATE;
  IF NOT change.state = ANY (allowed) OR change.lease_until > clock_timestamp() THEN
    RAISE EXCEPTION 'change %: expected % to %, got %', wanted, array_to_string(allowed, ' or '), verb,
        change.state || CASE WHEN change.lease_until > clock_timestamp() THEN ', and a worker has it' ELSE '' END
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN change;
END
$$;
--> statement-breakpoint
CREATE FUNCTION sync.hold_change(wanted bigint) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM sync.lock_change(wanted, '{pending}', 'hold it');
  UPDATE sync.changes SET state = 'held', reason = format('held by %s', session_user), lease_until = NULL WHERE change_id = wanted;
  RETURN 'held';
END
$$;
--> statement-breakpoint
CREATE FUNCTION sync.release_change(wanted bigint) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM sync.lock_change(wanted, '{held}', 'release it');
  UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now() WHERE change_id = wanted;
  RETURN 'pending';
END
$$;
--> statement-breakpoint
-- Makes a pending change due now, and sends once more what the service refused: the row shows again what it wants.
CREATE FUNCTION sync.retry_change(wanted bigint) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
  change sync.changes := sync.lock_change(wanted, '{pending,in_doubt,rejected}', 'try it again');
  found bigint;
BEGIN
  IF change.state <> 'rejected' THEN
    UPDATE sync.changes SET due_at = now(), lease_until = NULL WHERE change_id = wanted;
    RETURN change.state;
  ELSIF EXISTS (SELECT FROM sync.changes WHERE table_name = change.table_name AND row_id = change.row_id AND change_id > wanted
                   AND state <> 'cancelled' AND waits_for IS NULL) THEN
    RAISE EXCEPTION 'change %: a later change of the same record has overtaken it', wanted
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Change the row again instead.';
  END IF;
  UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), settled_at = NULL, sends = 0, failures = 0 WHERE change_id = wanted;
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  -- Once to be under change, once more to be brought in line with it.
  EXECUTE format('UPDATE warehouse.%I SET _pending = true WHERE row_id = $1', change.table_name) USING change.row_id;
  GET DIAGNOSTICS found = ROW_COUNT;
  IF found = 0 THEN
    RAISE EXCEPTION 'change %: its row was deleted', wanted USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  EXECUTE format('UPDATE warehouse.%I SET _hash = NULL WHERE row_id = $1', change.table_name) USING change.row_id;
  IF change.fields ? 'employee_ids' THEN
    UPDATE warehouse.job_employees SET _pending = true
     WHERE account_id = change.account_id AND (parent_row_id = change.row_id OR job_number = change.number)
       AND (_deleted_at IS NULL OR change.fields->'employee_ids' ? employee_id::text);
    UPDATE warehouse.job_employees SET _hash = NULL
     WHERE account_id = change.account_id AND (parent_row_id = change.row_id OR job_number = change.number) AND _pending;
  END IF;
  PERFORM set_config('fieldmirror.writer', writer, true);
  RETURN 'pending';
END
$$;
--> statement-breakpoint
CREATE FUNCTION sync.cancel_change(wanted bigint, why text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM sync.lock_change(wanted, '{held,pending,conflict}', 'cancel it');
  PERFORM sync.close_change(wanted, 'cancelled', coalesce(why, format('cancelled by %s', session_user)));
  RETURN 'cancelled';
END
$$;
--> statement-breakpoint
-- Decides a conflict. `service` gives up the wish where the service holds something else; `warehouse` sends it all the same;
-- of a create whose fate nobody knows, a number adopts that record, and `resend` sends it once more.
CREATE FUNCTION sync.resolve_change(wanted bigint, decision text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{conflict}', 'resolve it');
  fought jsonb := (SELECT jsonb_object_agg(field, service_value) FROM sync.conflicts WHERE change_id = wanted AND winner IS NULL);
  wished jsonb := (SELECT jsonb_object_agg(field, warehouse_value) FROM sync.conflicts WHERE change_id = wanted AND winner IS NULL);
  kept jsonb := change.fields - ARRAY(SELECT jsonb_object_keys(fought));
BEGIN
  IF fought IS NOT NULL AND decision IN ('service', 'warehouse') THEN
    UPDATE sync.conflicts SET winner = decision, decided_at = now(), decided_by = session_user WHERE change_id = wanted AND winner IS NULL;
    UPDATE sync.changes SET base = base || fought WHERE change_id = wanted RETURNING * INTO change;
    IF decision = 'service' AND kept = '{}' THEN
      PERFORM sync.close_change(wanted, 'cancelled', format('%s kept what the service holds', session_user));
      RETURN 'cancelled';
    END IF;
    -- What moves with a wish is sent with it: an address is never half yours and half theirs.
    UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), failures = 0,
           fields = CASE decision WHEN 'service' THEN kept ELSE fields || wished END
     WHERE change_id = wanted;
    IF decision = 'service' THEN
      PERFORM sync.rebase_later(change, fought);
      PERFORM sync.restore_row(change);
    END IF;
    RETURN 'pending';
  ELSIF fought IS NULL AND decision = 'service' THEN
    PERFORM sync.close_change(wanted, 'cancelled', format('given up by %s', session_user));
    RETURN 'cancelled';
  ELSIF fought IS NULL AND change.operation = 'create' AND decision ~ '^[1-9]\d{0,17}$' THEN
    UPDATE sync.changes SET number = decision::bigint, state = 'in_doubt', reason = format('%s says that it is number %s', session_user, decision), due_at = now()
     WHERE change_id = wanted;
    RETURN 'in_doubt';
  ELSIF fought IS NULL AND change.operation <> 'update' AND decision = 'resend' THEN
    UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), sends = 0 WHERE change_id = wanted;
    RETURN 'pending';
  END IF;
  RAISE EXCEPTION 'change %: expected %, got %', wanted,
      CASE WHEN fought IS NOT NULL THEN 'service or warehouse'
           WHEN change.operation = 'create' THEN 'service (give it up), the number of the record that it became, or resend'
           WHEN change.operation = 'delete' THEN 'service (give it up), or resend' ELSE 'service (give it up)' END, coalesce(decision, 'nothing')
    USING ERRCODE = 'invalid_parameter_value';
END
$$;
--> statement-breakpoint
-- Waits until a change is settled, or needs a person. @returns its state; the state it is in when the time is up
CREATE FUNCTION sync.wait(wanted bigint, timeout interval DEFAULT '30 seconds') RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  until timestamptz := clock_timestamp() + coalesce(timeout, '30 seconds');
  own bigint := pg_current_xact_id_if_assigned()::text::bigint;
  found text;
  made_by bigint;
BEGIN
  LOOP
    SELECT state, xmin::text::bigint INTO found, made_by FROM sync.changes WHERE change_id = wanted;
    IF found IS NULL THEN
      RAISE EXCEPTION 'change %: there is none of that number', wanted USING ERRCODE = 'no_data_found';
    -- What is seen and yet in progress is our own: of this transaction, or of a savepoint in it, whose number is higher.
    ELSIF made_by >= own % 4294967296 AND pg_xact_status((own - own % 4294967296 + made_by)::text::xid8) = 'in progress' THEN
      RAISE EXCEPTION 'change %: it was made in this transaction, and nobody sees it before you commit', wanted
        USING ERRCODE = 'active_sql_transaction', HINT = 'COMMIT first, then wait.';
    ELSIF found IN ('done', 'rejected', 'cancelled', 'conflict') OR clock_timestamp() >= until THEN
      RETURN found;
    END IF;
    PERFORM pg_sleep(least(0.05, extract(epoch FROM until - clock_timestamp())));
  END LOOP;
END
$$;
--> statement-breakpoint
-- Tells who listens: workers of what is due, everybody of what is settled. A notice has room for 8,000 bytes.
CREATE FUNCTION sync.tell_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.state IN ('pending', 'in_doubt') AND NEW.waits_for IS NULL THEN
    IF NEW.due_at <= clock_timestamp() THEN
      PERFORM pg_notify('fieldmirror_due', NEW.account_id::text);
    END IF;
  ELSIF NEW.state IN ('done', 'rejected', 'cancelled', 'conflict') THEN
    PERFORM pg_notify('fieldmirror_changes', json_build_object('change_id', NEW.change_id, 'state', NEW.state, 'account_id', NEW.account_id,
      'table', NEW.table_name, 'row_id', NEW.row_id, 'number', NEW.number, 'external_key', left(NEW.external_key, 1000))::text);
  END IF;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER tell_insert AFTER INSERT ON sync.changes FOR EACH ROW EXECUTE FUNCTION sync.tell_change();
--> statement-breakpoint
CREATE TRIGGER tell_update AFTER UPDATE ON sync.changes FOR EACH ROW
  WHEN (NEW.state <> OLD.state OR NEW.waits_for IS DISTINCT FROM OLD.waits_for OR NEW.due_at < OLD.due_at) EXECUTE FUNCTION sync.tell_change();
--> statement-breakpoint
-- A row that a change wrote back is no edit of anybody; and who sets a key of their own leaves the sweep in the row.
DO $$
DECLARE
  source text := pg_get_functiondef('history.keep'::regproc);
  inserted text := replace(source, 'WHEN (NEW._sweep_id IS NULL)', 'WHEN (NEW._sweep_id IS NULL AND NEW._change_id IS NULL)');
  changed text := replace(inserted, 'edit.at = held._changed_at AND held._sweep_id IS NULL', 'edit.at = held._changed_at');
BEGIN
  IF inserted = source OR changed = inserted THEN
    RAISE EXCEPTION 'history.keep: it is not as expected';
  END IF;
  EXECUTE changed;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION history.stamp() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  same record := NEW;
BEGIN
  IF current_setting('fieldmirror.writer', true) IS DISTINCT FROM 'sweep' THEN
    -- By image: 1.5 and 1.50 are equal and not the same.
    IF NEW *= OLD THEN
      RETURN NULL;
    END IF;
    IF NEW.row_id <> OLD.row_id THEN
      RAISE EXCEPTION 'warehouse.%, row %: row_id never changes', TG_TABLE_NAME, OLD.row_id
        USING ERRCODE = 'integrity_constraint_violation', HINT = 'Leave row_id out of the UPDATE.';
    END IF;
    -- A key of one's own says nothing of what the service sent.
    same.external_key := OLD.external_key;
    IF NOT same *= OLD THEN
      -- Where a change is on its way, the row still rests on what the service sent. Else it no longer says that: without a
      -- hash the next sweep reads its record again.
      IF NEW._pending IS NULL THEN
        NEW._hash := NULL;
      END IF;
      NEW._sweep_id := NULL;
      NEW._change_id := NULL;
      NEW._page := NULL;
    END IF;
  END IF;
  NEW._changed_at := greatest(now(), OLD._changed_at + interval '1 microsecond');
  RETURN NEW;
END
$$;
--> statement-breakpoint
SELECT history.keep(name) FROM unnest(ARRAY['employees', 'customers', 'jobs', 'tasks']) AS name;
--> statement-breakpoint
SELECT history.keep(name, '{customers}', 'customer_number') FROM unnest(ARRAY['contacts', 'customer_notes']) AS name;
--> statement-breakpoint
SELECT history.keep(name, '{jobs}', 'job_number')
  FROM unnest(ARRAY['job_employees', 'job_charges', 'time_entries', 'job_notes']) AS name;
--> statement-breakpoint
SELECT history.keep('job_types', '{jobs}'), history.keep('job_statuses', '{jobs}'), history.keep('tax_entities', '{customers,jobs}');
--> statement-breakpoint
SELECT sync.capture('customers', 'customer_number', 'create update delete'),
       sync.capture('customer_notes', 'id', 'create update delete', 'customers', 'customer_number'),
       sync.capture('jobs', 'job_number', 'create update delete', 'customers', 'customer_number'),
       sync.capture('job_notes', 'id', 'create update delete', 'jobs', 'job_number'),
       sync.capture('time_entries', 'id', 'create update delete', 'jobs', 'job_number'),
       sync.capture('job_charges', 'id', 'create', 'jobs', 'job_number', 'A charge can only be created: mend it in the service itself.'),
       sync.capture('job_employees', 'job_number', 'create delete', 'jobs', 'job_number', 'DELETE the row, and INSERT another.'),
       sync.capture('employees', 'employee_number', 'create update', hint => 'An employee is made inactive in the service itself, never deleted.'),
       sync.capture('tasks', 'id', 'create update delete');
--> statement-breakpoint
SELECT sync.capture(name, 'id', '', hint => 'The service has no way to write it: change it in the service itself.')
  FROM unnest(ARRAY['contacts', 'job_types', 'job_statuses', 'tax_entities']) AS name;
--> statement-breakpoint
SELECT sync.grant_roles();
