-- A write-back makes two versions: the row as its author wrote it, and the record as it was read
-- back. If both hold the same, except when and by whom the service last changed the record, they
-- become one version. This happens once another version has replaced them. The feed then no longer
-- names them. The joined version begins with the edit and bears the change, and history.edits still
-- holds its author. The current row stays as it is, because _changed_at must move when a row moves.
CREATE OR REPLACE FUNCTION sync.join_versions(since timestamptz, until timestamptz, most integer)
  RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- The columns that describe how a version came about, not its content.
  apart text[] := ARRAY['valid_to', '_changed_at', '_sweep_id', '_change_id', '_page', '_hash',
    '_pending', 'updated_at', 'updated_by'];
  past text;
  pair record;
  joined bigint := 0;
BEGIN
  FOR past IN SELECT format('history.%I', relname) FROM pg_class
    WHERE relnamespace = 'history'::regnamespace AND relkind = 'r' AND relname LIKE 'past\_%'
    ORDER BY 1 LOOP
    EXIT WHEN joined >= most;
    FOR pair IN EXECUTE format(
      'SELECT read.row_id, written._changed_at AS written_at, read._changed_at AS read_at
         FROM %1$s AS read JOIN %1$s AS written ON written.row_id = read.row_id AND '
           'written.valid_to = read._changed_at
        WHERE read.valid_to > $1 AND read.valid_to <= $2 AND read._change_id IS NOT NULL
          AND written._pending AND num_nonnulls(written._sweep_id, written._change_id) = 0
          AND to_jsonb(written) - $3 = to_jsonb(read) - $3
        LIMIT $4', past) USING coalesce(since, '-infinity'), least(until, now()), apart,
          most - joined
    LOOP
      EXECUTE format('DELETE FROM %s WHERE row_id = $1 AND _changed_at = $2', past)
        USING pair.row_id, pair.written_at;
      EXECUTE format('UPDATE %s SET _changed_at = $2 WHERE row_id = $1 AND _changed_at = $3', past)
        USING pair.row_id, pair.written_at, pair.read_at;
      joined := joined + 1;
    END LOOP;
  END LOOP;
  RETURN joined;
END
$$;
COMMENT ON FUNCTION sync.join_versions
  IS 'Makes one version of up to so many pairs of an edit and its reading back that hold the same '
  'and were replaced between two times.';
