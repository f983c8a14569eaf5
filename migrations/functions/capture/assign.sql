-- Completes an assignment before an author's row is inserted: the row names its job by row_id and
-- by number. A tombstone of the same assignment is removed to make room.
CREATE OR REPLACE FUNCTION sync.complete_assignment() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  job warehouse.jobs := sync.lock_job(NEW);
BEGIN
  NEW.parent_row_id := coalesce(NEW.parent_row_id, job.row_id);
  NEW.job_number := coalesce(NEW.job_number, job.job_number);
  NEW._pending := coalesce(NEW._pending, true);
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  DELETE FROM warehouse.job_employees
   WHERE account_id = NEW.account_id AND employee_id = NEW.employee_id AND _deleted_at IS NOT NULL
     AND (job_number = NEW.job_number OR job_number IS NULL AND NEW.job_number IS NULL
       AND parent_row_id = NEW.parent_row_id);
  PERFORM set_config('fieldmirror.writer', '', true);
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.complete_assignment
  IS 'Trigger: says which job a new row of job_employees is of, and makes room.';

CREATE OR REPLACE FUNCTION sync.capture_assign() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  job warehouse.jobs := sync.lock_job(NEW);
BEGIN
  PERFORM sync.check_new_row(TG_TABLE_NAME, to_jsonb(NEW), '', 'job_number');
  IF job.row_id IS NULL OR job._deleted_at IS NOT NULL
    OR NEW.job_number IS DISTINCT FROM job.job_number THEN
    PERFORM sync.refuse_column('job_employees', 'job_number',
      format('expected one of the live jobs of this account, got %s',
                               coalesce(NEW.job_number::text, 'row ' || NEW.parent_row_id,
                                 'nothing')),
                               'Give the number of one, or its row_id in warehouse.jobs as '
                                 'parent_row_id.');
  ELSIF NEW.employee_id IS NULL THEN
    PERFORM sync.refuse_column('job_employees', 'employee_id',
      'expected the id of an employee, got null', 'employees.id has it.');
  END IF;
  PERFORM sync.record_assignment(job, NEW.row_id, NEW.employee_id, NULL);
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.capture_assign
  IS 'Trigger: makes a change of the job of a new row of job_employees.';

-- An assignment that was removed stays as a tombstone until the removal has been sent to the
-- service.
CREATE OR REPLACE FUNCTION sync.bury_assignment(link warehouse.job_employees) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  INSERT INTO warehouse.job_employees OVERRIDING SYSTEM VALUE
  SELECT kept.* FROM jsonb_populate_record(link, jsonb_build_object(
           '_deleted_at', now(), '_pending', true, '_sweep_id', NULL, '_page', NULL, '_change_id',
             NULL,
           '_changed_at', greatest(now(), link._changed_at + interval '1 microsecond'))) AS kept;
  PERFORM set_config('fieldmirror.writer', '', true);
END
$$;
COMMENT ON FUNCTION sync.bury_assignment
  IS 'Brings back an assignment that was taken off, as a tombstone.';

-- The deleted row comes back as a tombstone, as with any DELETE. An assignment that only existed
-- here is removed for good, and so is an assignment of a job that is deleted.
CREATE OR REPLACE FUNCTION sync.capture_unassign() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  job warehouse.jobs := sync.lock_job(OLD);
  is_known boolean;
BEGIN
  IF OLD._deleted_at IS NOT NULL OR job.row_id IS NULL OR job._deleted_at IS NOT NULL THEN
    RETURN NULL;
  END IF;
  is_known := job.job_number IS NOT NULL
    AND (OLD._pending IS NULL OR num_nonnulls(OLD._sweep_id, OLD._change_id) > 0 OR EXISTS (
    SELECT FROM sync.changes WHERE table_name = 'jobs' AND row_id = job.row_id AND is_open
       AND base->'employee_ids' ? OLD.employee_id::text));
  IF is_known THEN
    PERFORM sync.bury_assignment(OLD);
  END IF;
  PERFORM sync.record_assignment(job, OLD.row_id, NULL, OLD.employee_id);
  -- A change on its way still assigns the employee. Without a tombstone, the end of that change
  -- would insert a new live row.
  IF NOT is_known AND EXISTS (
       SELECT FROM sync.changes WHERE table_name = 'jobs' AND row_id = job.row_id AND is_open
          AND fields->'employee_ids' ? OLD.employee_id::text) THEN
    PERFORM sync.bury_assignment(OLD);
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.capture_unassign
  IS 'Trigger: makes a change of the job of a deleted row of job_employees.';
