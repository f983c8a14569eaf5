-- The employees that the rows of job_employees assign to a job, by employees.id.
CREATE OR REPLACE FUNCTION sync.assigned(of_account bigint, of_job_row bigint, of_job bigint)
  RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_agg(DISTINCT employee_id::text ORDER BY employee_id::text), '[]')
  FROM warehouse.job_employees
   WHERE account_id = of_account AND (parent_row_id = of_job_row OR job_number = of_job)
   AND _deleted_at IS NULL
$$;
COMMENT ON FUNCTION sync.assigned IS
  'The employees that the rows of job_employees assign to a job.';

-- The job of an assignment, locked; all nulls if there is none.
CREATE OR REPLACE FUNCTION sync.lock_job(link warehouse.job_employees) RETURNS warehouse.jobs
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT job.* FROM warehouse.jobs AS job
   WHERE job.account_id = link.account_id
     AND (job.row_id = link.parent_row_id OR link.parent_row_id IS NULL
       AND job.job_number = link.job_number)
   LIMIT 1 FOR NO KEY UPDATE
$$;
COMMENT ON FUNCTION sync.lock_job IS 'The job of an assignment, locked.';

-- An earlier form did not name the row.
DROP FUNCTION IF EXISTS sync.record_assignment(warehouse.jobs, bigint, bigint);

-- Records that an employee was assigned to a job, or removed from it. The list that an open change
-- wants takes precedence over the rows, because a sweep may have inserted rows that are to be
-- removed. The caller holds the lock of the job.
-- @param of_link - the row of job_employees
CREATE OR REPLACE FUNCTION sync.record_assignment(job warehouse.jobs, of_link bigint, added bigint,
  removed bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  ids jsonb := (
    SELECT coalesce(jsonb_agg(DISTINCT id ORDER BY id), '[]')
      FROM jsonb_array_elements_text(coalesce(
             (SELECT fields->'employee_ids' || to_jsonb(array_remove(ARRAY[added::text], NULL))
               FROM sync.changes
               WHERE table_name = 'jobs' AND row_id = job.row_id AND fields ? 'employee_ids'
               AND is_open
               ORDER BY change_id DESC LIMIT 1),
             sync.assigned(job.account_id, job.row_id, job.job_number))) AS id
     WHERE id IS DISTINCT FROM removed::text);
  was jsonb := '[]';
  is_there boolean := removed IS NOT NULL;
  unseen jsonb;
BEGIN
  IF job.job_number IS NULL AND sync.lacks_create('jobs', job.row_id) THEN
    PERFORM sync.record_create('jobs', to_jsonb(job), sync.parent_of('jobs', job.row_id));
  ELSE
    IF job.job_number IS NOT NULL THEN
      -- The base holds the employees whose live row is known at the service, and those deleted here
      -- but not yet at the service.
      SELECT coalesce(jsonb_agg(DISTINCT employee_id::text ORDER BY employee_id::text), '[]')
      INTO was
        FROM warehouse.job_employees
       WHERE account_id = job.account_id AND (parent_row_id = job.row_id
         OR job_number = job.job_number)
         AND CASE WHEN _deleted_at IS NULL THEN _pending IS NULL
           OR num_nonnulls(_sweep_id, _change_id) > 0 ELSE _pending END;
    END IF;
    -- Another writer assigned the employee, or removed it, unseen by the author. The list that is
    -- wanted now is then what the author had seen.
    IF sync.seen_assigned(job, of_link, coalesce(added, removed), is_there) <> is_there THEN
      unseen := jsonb_build_object('employee_ids', ids);
    END IF;
    PERFORM sync.record_change(job.account_id, 'jobs', job.row_id, 'update', job.job_number,
                               jsonb_build_object('employee_ids', ids),
                                 jsonb_build_object('employee_ids', was), NULL, job.external_key,
                                 unseen);
  END IF;
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  UPDATE warehouse.jobs SET _pending = CASE WHEN sync.wanted_columns('jobs', job.row_id) IS NOT NULL
    THEN true END
   WHERE row_id = job.row_id AND _pending
     IS DISTINCT FROM CASE WHEN sync.wanted_columns('jobs', job.row_id) IS NOT NULL THEN true END;
  -- All rows of the job get the same mark, even those that stay, because employee_ids is one field.
  IF sync.wanted_assignment(job.account_id, job.job_number, job.row_id, 0, NULL) IS NULL THEN
    UPDATE warehouse.job_employees SET _pending = NULL
     WHERE account_id = job.account_id AND (parent_row_id = job.row_id
       OR job_number = job.job_number) AND _pending;
  ELSE
    UPDATE warehouse.job_employees SET _pending = true
     WHERE account_id = job.account_id AND (parent_row_id = job.row_id
       OR job_number = job.job_number)
       AND _pending IS NULL AND _deleted_at IS NULL;
  END IF;
  PERFORM set_config('fieldmirror.writer', '', true);
END
$$;
COMMENT ON FUNCTION sync.record_assignment
  IS 'Brings the employees that a job has by now into sync.changes; its lock is held.';
