CREATE OR REPLACE VIEW mart.freshness AS SELECT count(*) AS waiting, min(noted_at) AS since
  FROM sync.stale_jobs;
COMMENT ON VIEW mart.freshness IS 'One row: what the star does not hold yet of the warehouse. It '
  'is written at the end of each sweep, and a few seconds after a change.';
COMMENT ON COLUMN mart.freshness.waiting IS 'Notes of changes that the next refresh will process.';
COMMENT ON COLUMN mart.freshness.since
  IS 'When the oldest of them was noted; null where none waits.';
