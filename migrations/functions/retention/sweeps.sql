-- The sweeps that may be folded: they succeeded and changed nothing, a later sweep proves the same,
-- and no row names them as evidence. For a sweep of one record, a later full sweep proves the same.
CREATE OR REPLACE FUNCTION sync.foldable_sweeps(cutoff timestamptz) RETURNS SETOF bigint
  LANGUAGE sql STABLE AS $$
  SELECT sweep_id FROM sync.sweeps AS old
   WHERE ended_at < cutoff
     AND state IN ('certified', 'refreshed')
     AND inserted + updated + revived + tombstoned + vanished + quarantined = 0
     AND EXISTS (SELECT FROM sync.sweeps AS later
                  WHERE later.account_id = old.account_id AND later.stream = old.stream
                    AND later.mode = CASE old.mode WHEN 'window' THEN 'window' ELSE 'full' END
                    AND later.window_name IS NOT DISTINCT FROM old.window_name
                    AND later.sweep_id > old.sweep_id AND later.started_at > old.started_at
                    AND later.state = old.state)
     AND NOT EXISTS (SELECT FROM sync.tombstones AS named WHERE named.sweep_id = old.sweep_id)
     AND NOT EXISTS (SELECT FROM sync.quarantine AS named WHERE named.sweep_id = old.sweep_id)
     AND NOT EXISTS (SELECT FROM sync.field_events AS named WHERE named.account_id = old.account_id
       AND named.sweep_id = old.sweep_id)
     AND (asked = 0 OR NOT EXISTS (
          SELECT FROM sync.absent_numbers AS named
           WHERE named.account_id = old.account_id AND named.stream = old.stream
           AND named.sweep_id = old.sweep_id))
   ORDER BY ended_at, sweep_id
$$;
COMMENT ON FUNCTION sync.foldable_sweeps
  IS 'Sweeps that succeeded and changed nothing, ended before a given time, and are no longer '
  'needed one by one.';

CREATE OR REPLACE FUNCTION sync.fold_sweeps(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE sql AS $$
  WITH gone AS (
    DELETE FROM sync.sweeps WHERE sweep_id IN (SELECT old FROM sync.foldable_sweeps(cutoff) AS old
      LIMIT most) RETURNING *
  ), folded AS (
    INSERT INTO sync.sweep_days AS held (account_id, stream, mode, window_name, day, sweeps,
      first_started_at, first_ended_at,
                                         last_started_at, last_ended_at, requests, pages, bytes,
                                           records)
    SELECT account_id, stream, mode, window_name, (ended_at AT TIME ZONE time_zone)::date, count(*),
      min(started_at), min(ended_at),
           max(started_at), max(ended_at), sum(requests), sum(pages), sum(bytes), sum(records)
      FROM gone JOIN sync.accounts USING (account_id)
     GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT ON CONSTRAINT sweep_days_key DO UPDATE
       SET sweeps = held.sweeps + EXCLUDED.sweeps, requests = held.requests + EXCLUDED.requests,
         pages = held.pages + EXCLUDED.pages,
           bytes = held.bytes + EXCLUDED.bytes, records = held.records + EXCLUDED.records,
           first_started_at = least(held.first_started_at, EXCLUDED.first_started_at),
           first_ended_at = least(held.first_ended_at, EXCLUDED.first_ended_at),
           last_started_at = greatest(held.last_started_at, EXCLUDED.last_started_at),
           last_ended_at = greatest(held.last_ended_at, EXCLUDED.last_ended_at)
  )
  SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION sync.fold_sweeps
  IS 'Folds up to so many sweeps that changed nothing into the rows of their days.';
