-- The state of a job. Its status alone does not give it: a job that is done may still be new by its
-- status, and an unknown status gives nothing. The first condition that matches counts.
CREATE OR REPLACE FUNCTION mart.job_state(status text, estimate_sent_on timestamptz,
  scheduled_on timestamptz, started_on timestamptz, completed_on timestamptz,
                                          canceled_on timestamptz, won_date timestamptz,
                                            lost_date timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN status IN ('canceled', 'cancelled') OR canceled_on IS NOT NULL THEN 'cancelled'
  WHEN status = 'lost' OR lost_date IS NOT NULL AND won_date IS NULL THEN 'lost'
  WHEN status = 'complete' OR completed_on IS NOT NULL THEN 'completed'
  WHEN status = 'in_progress' OR started_on IS NOT NULL THEN 'in_progress'
  WHEN won_date IS NULL AND (status = 'new' OR estimate_sent_on IS NOT NULL
    AND scheduled_on IS NULL) THEN 'estimate'
  WHEN scheduled_on IS NOT NULL THEN 'scheduled'
  ELSE 'unscheduled'
END;
COMMENT ON FUNCTION mart.job_state
  IS 'The state of a job, from its status and its times: cancelled, lost, completed, in_progress, '
  'estimate, scheduled or unscheduled.';
