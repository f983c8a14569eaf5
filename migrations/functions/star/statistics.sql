-- Statistics of the tables that have none: Postgres gathers them within a minute or so after a table was first filled, and never
-- where it is stopped before. Till then an answer as of a past moment may take minutes. Small tables do without.
CREATE OR REPLACE FUNCTION sync.gather_statistics() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place text;
BEGIN
  FOR place IN
    SELECT format('%I.%I', space.nspname, held.relname)
      FROM pg_class AS held JOIN pg_namespace AS space ON space.oid = held.relnamespace
     WHERE space.nspname IN ('warehouse', 'history', 'mart') AND held.relkind = 'r' AND held.reltuples < 0 AND pg_relation_size(held.oid) >= 65536
     ORDER BY held.oid
  LOOP
    EXECUTE 'ANALYZE ' || place;
  END LOOP;
END $$;
COMMENT ON FUNCTION sync.gather_statistics IS 'Gathers the statistics of the tables of the warehouse, of history and of the star that were filled and have none yet.';

SELECT sync.gather_statistics();
