-- The jobs that the notes concern, with all other jobs of their customers: which job of a customer
-- was the first may have changed.
CREATE OR REPLACE FUNCTION sync.widen_stale(noted sync.stale_jobs[]) RETURNS bigint[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH numbers AS MATERIALIZED (
    SELECT DISTINCT account_id, job_number FROM unnest(noted) AS one
    CROSS JOIN unnest(one.job_numbers) AS job_number
  ), gone AS (
    SELECT DISTINCT account_id, customer_id FROM unnest(noted) AS one
    CROSS JOIN unnest(one.customer_ids) AS customer_id
  ),
  touched AS MATERIALIZED (
    SELECT job.row_id, job.account_id, job.customer_id FROM numbers JOIN warehouse.jobs AS job
    USING (account_id, job_number)
     UNION
    SELECT job.row_id, job.account_id, job.customer_id FROM gone JOIN warehouse.jobs AS job
    USING (account_id, customer_id)
  ), customers AS (
    SELECT held.customer_key FROM touched JOIN mart.fct_job AS held ON held.job_key = touched.row_id
     UNION
    SELECT customer.row_id FROM touched JOIN warehouse.customers AS customer
    ON customer.account_id = touched.account_id AND customer.id = touched.customer_id
  )
  SELECT coalesce(array_agg(job_key), '{}')
    FROM (SELECT row_id AS job_key FROM touched
           UNION
          SELECT held.job_key FROM customers JOIN mart.fct_job AS held USING (customer_key)
          WHERE customer_key <> -1
           UNION
          -- A job that is no longer in the warehouse is only in the star.
          SELECT held.job_key FROM numbers JOIN mart.fct_job AS held
          ON held.account_key = numbers.account_id AND held.job_number = numbers.job_number)
            AS all_keys
$$;
COMMENT ON FUNCTION sync.widen_stale
  IS 'The keys of the jobs that notes concern, with all other jobs of their customers.';

-- Fills whole tables of the star. Statistics of indexed columns are gathered at once, from as small
-- a sample as those of the warehouse (statistics.sql).
CREATE OR REPLACE FUNCTION sync.fill_star(members text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET default_statistics_target = 2 SET timezone = 'UTC' AS $$
DECLARE
  member text;
BEGIN
  -- In the zone of most accounts: their dates are then found by a cast, without looking up the zone
  -- for each.
  PERFORM set_config('timezone', time_zone, true) FROM sync.accounts GROUP BY time_zone
    ORDER BY count(*) DESC, time_zone LIMIT 1;
  FOREACH member IN ARRAY members LOOP
    EXECUTE format('DELETE FROM mart.%I', member);
    EXECUTE format('INSERT INTO mart.%I SELECT * FROM sync.%I', member, 'all_' || member);
    EXECUTE (SELECT format('ANALYZE mart.%I (%s)', member, string_agg(quote_ident(attname), ', '))
      FROM pg_attribute
              WHERE attrelid = format('mart.%I', member)::regclass AND attnum > 0
                AND EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid
                  AND attnum = ANY (indkey)));
  END LOOP;
END $$;
COMMENT ON FUNCTION sync.fill_star IS 'Fills tables of the star, whole, by their names.';

-- The present form takes names: a call without any would match both forms.
DROP FUNCTION IF EXISTS sync.refresh_star();

-- Writes stale rows into the kept tables of the star, in one transaction: readers see the tables
-- before or after. The caller has locked the notes and reads from one snapshot
-- (src/star/mart.ts). A note is in the snapshot if and only if the write that it notes is.
-- Tables that another session fills from the same snapshot are left to that session: only an empty
-- star is filled by two.
CREATE OR REPLACE FUNCTION sync.refresh_star(filled_aside text[] DEFAULT '{}') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
  members text[] := ARRAY['fct_job', 'fct_job_charge', 'fct_time_entry', 'fct_assignment'];
  noted sync.stale_jobs[];
  keys bigint[];
  member text;
BEGIN
  -- An empty star is filled with everything: no job in it needs to be searched, and no note needs
  -- to be read.
  IF EXISTS (SELECT FROM mart.fct_job) THEN
    WITH taken AS (DELETE FROM sync.stale_jobs RETURNING stale_jobs) SELECT array_agg(stale_jobs)
      INTO noted FROM taken;
    IF noted IS NULL THEN
      RETURN 0;
    END IF;
    IF NOT EXISTS (SELECT FROM unnest(noted) AS one
      WHERE job_numbers IS NULL AND customer_ids IS NULL) THEN
      keys := sync.widen_stale(noted);
    END IF;
  ELSE
    DELETE FROM sync.stale_jobs;
    IF NOT FOUND THEN
      RETURN 0;
    END IF;
  END IF;
  -- If more than a quarter of all jobs is stale, filling everything is cheaper.
  IF keys IS NULL OR cardinality(keys) * 4 > (SELECT count(*) FROM warehouse.jobs) THEN
    PERFORM sync.fill_star(ARRAY(SELECT name FROM unnest(members) AS name
      WHERE name <> ALL (filled_aside)));
    RETURN (SELECT count(*) FROM mart.fct_job);
  END IF;
  FOREACH member IN ARRAY members LOOP
    EXECUTE format('DELETE FROM mart.%I WHERE job_key = ANY ($1)', member) USING keys;
    EXECUTE format('INSERT INTO mart.%I SELECT * FROM sync.%I($1)', member, 'some_' || member)
      USING keys;
  END LOOP;
  RETURN cardinality(keys);
END $$;
COMMENT ON FUNCTION sync.refresh_star
  IS 'Writes the jobs that changed since the last refresh into the kept tables of the star, but '
  'for those that another session fills; returns how many.';
