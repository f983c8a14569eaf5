-- Versions that were replaced, table by table. The note of the role that wrote a version is removed
-- with it.
CREATE OR REPLACE FUNCTION sync.prune_versions(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  past name;
  gone bigint;
  total bigint := 0;
BEGIN
  FOR past IN SELECT relname FROM pg_class WHERE relnamespace = 'history'::regnamespace
    AND relkind = 'r' AND relname LIKE 'past\_%' ORDER BY 1 LOOP
    EXIT WHEN total >= most;
    EXECUTE format(
      'WITH gone AS (
         DELETE FROM history.%1$I WHERE (row_id, _changed_at) IN (
           SELECT row_id, _changed_at FROM history.%1$I WHERE valid_to < $1 ORDER BY valid_to '
             'LIMIT $2)
         RETURNING row_id, _changed_at, valid_to
       ), notes AS (
         DELETE FROM history.edits AS edit USING gone
          WHERE edit.table_name = %2$L AND edit.row_id = gone.row_id
            AND (edit.at = gone._changed_at OR edit.at = gone.valid_to AND edit.kind = ''delete'')
       )
       SELECT count(*) FROM gone', past, substr(past, length('past_') + 1))
      INTO gone USING cutoff, most - total;
    total := total + gone;
  END LOOP;
  RETURN total;
END
$$;
COMMENT ON FUNCTION sync.prune_versions
  IS 'Removes up to so many versions that were replaced before a given time.';

CREATE OR REPLACE FUNCTION sync.count_prunable_versions(cutoff timestamptz) RETURNS bigint
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  past regclass;
  found bigint;
  total bigint := 0;
BEGIN
  FOR past IN SELECT oid FROM pg_class WHERE relnamespace = 'history'::regnamespace
    AND relkind = 'r' AND relname LIKE 'past\_%' LOOP
    EXECUTE format('SELECT count(*) FROM %s WHERE valid_to < $1', past) INTO found USING cutoff;
    total := total + found;
  END LOOP;
  RETURN total;
END
$$;
COMMENT ON FUNCTION sync.count_prunable_versions
  IS 'How many versions were replaced before a given time.';
