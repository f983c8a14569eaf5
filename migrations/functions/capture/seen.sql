-- The values that the author of a write had seen. `SET fieldmirror.seen = 'CURSOR'` gives the point
-- up to which the session has read the feed. The HTTP API may give values instead: it sets
-- fieldmirror.was, JSON by field, or by row_id and field. Any session may set both, because they
-- give no right. A false claim can only turn the author's own writes into conflicts, or leave them
-- as they are without a claim.

-- The position up to which the session has read the feed; null if the session sets none. Refuses a
-- text that is no cursor, and a cursor that is no longer kept.
CREATE OR REPLACE FUNCTION sync.seen_position() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  given text := nullif(current_setting('fieldmirror.seen', true), '');
BEGIN
  RETURN CASE WHEN given IS NOT NULL THEN sync.feed_position(given, 'fieldmirror.seen') END;
END
$$;
COMMENT ON FUNCTION sync.seen_position
  IS 'The position of the feed up to which the session has read, as fieldmirror.seen says; null '
  'where it does not say.';

-- A row as its author had seen it: as it was at the cursor, with the author's own later writes. An
-- own write that came to nothing does not count, unless the author took it back: then the taking
-- back counts. If the service tidied an own write, the tidied value counts as seen. A row that came
-- after the cursor was not seen: its fields were empty.
-- @param held - the row as it is now
-- @returns null if the author gives no cursor and no values, or has seen the row as it is
CREATE OR REPLACE FUNCTION sync.seen_row(of_table text, held jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  SET timezone = 'UTC' AS $$
DECLARE
  place bigint := sync.seen_position();
  said jsonb := nullif(current_setting('fieldmirror.was', true), '')::jsonb;
  later bigint[];
  entry record;
  seen jsonb;
BEGIN
  IF place IS NOT NULL THEN
    later := ARRAY(
      SELECT entry_id FROM sync.feed_entries
       WHERE table_name = of_table AND row_id = (held->>'row_id')::bigint
         AND (position > place OR position IS NULL)
       ORDER BY entry_id);
    IF EXISTS (SELECT FROM sync.feed_entries AS loaded
                WHERE operation = 'loaded' AND table_name = of_table
                  AND account_id = (held->>'account_id')::bigint
                  AND (position > place OR position IS NULL)
                  AND (later = '{}' OR loaded.entry_id < later[1])) THEN
      seen := '{}';
    END IF;
    FOR entry IN
      SELECT version.was, coalesce(version.became, held) AS became, written.is_own,
             CASE WHEN told.written_by IS NULL THEN change.result->'tidied' END AS tidied
        FROM sync.feed_entries AS told
        LEFT JOIN sync.feed_versions(later) AS version USING (entry_id)
        LEFT JOIN sync.changes AS change USING (change_id)
       CROSS JOIN LATERAL (SELECT sync.is_written_by_me(told, CASE WHEN NOT sync.puts_back(change,
         coalesce(version.became, held)) THEN change.state END) AS is_own) AS written
       WHERE told.entry_id = ANY (later) ORDER BY told.entry_id
    LOOP
      seen := coalesce(seen, entry.was, '{}');
      IF entry.is_own THEN
        seen := seen || (SELECT coalesce(jsonb_object_agg(key, value), '{}')
          FROM jsonb_each(entry.became) WHERE value IS DISTINCT FROM entry.was->key);
      ELSIF entry.tidied IS NOT NULL THEN
        seen := seen || (SELECT coalesce(jsonb_object_agg(key, value->'got'), '{}')
          FROM jsonb_each(entry.tidied) WHERE value->>'sent' = seen->>key);
      END IF;
    END LOOP;
  END IF;
  -- If several rows are written, each has its own object, by its row_id.
  IF jsonb_typeof(said->(held->>'row_id')) = 'object' THEN
    said := said->(held->>'row_id');
  END IF;
  RETURN CASE WHEN said IS NULL THEN seen ELSE coalesce(seen, held) || said END;
END
$$;
COMMENT ON FUNCTION sync.seen_row
  IS 'A row as the author of a write had seen it; null where the author says nothing, or has seen '
  'it as it is.';

-- Whether an entry is a write of this session's author that has not come to nothing.
-- @param state - of the change that the entry names
CREATE OR REPLACE FUNCTION sync.is_written_by_me(told sync.feed_entries, state text)
  RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(sync.writer_of(told.written_by, told.application)
    = sync.writer_of(session_user, sync.application()), false)
     AND coalesce(state NOT IN ('cancelled', 'rejected'), true)
$$;
COMMENT ON FUNCTION sync.is_written_by_me
  IS 'Whether an entry of the feed is a write of the session itself that has not come to nothing.';

-- Whether a version of a row puts back all that an unsent change had written, which ended it.
CREATE OR REPLACE FUNCTION sync.puts_back(change sync.changes, became jsonb) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(change.state = 'cancelled' AND change.base <> '{}', false)
     AND NOT EXISTS (SELECT FROM jsonb_each_text(change.base)
                      WHERE value IS DISTINCT FROM became->>key)
$$;
COMMENT ON FUNCTION sync.puts_back
  IS 'Whether a version of a row puts back all that an unsent change had written, which ended it.';

-- The given fields of a row that its author had not seen as they are. Each has the value that the
-- author had seen, as text. Null if there are none.
CREATE OR REPLACE FUNCTION sync.unseen(of_table text, seen jsonb, held jsonb, names text[])
  RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_object_agg(field, seen->>field) FROM sync.write_rules
   WHERE table_name = of_table AND field = ANY (names) AND kind <> 'ids' AND seen IS NOT NULL
     AND NOT sync.is_equal(kind, seen->field, held->field)
$$;
COMMENT ON FUNCTION sync.unseen
  IS 'The fields of a row that its author had not seen as they are, with what the author had seen.';

-- Whether the author of an assignment had seen the employee assigned to the job.
-- @param of_link - the row that was written; earlier rows of the same assignment are found as well
-- @param is_there - whether the employee was assigned right before this write
CREATE OR REPLACE FUNCTION sync.seen_assigned(job warehouse.jobs, of_link bigint,
  of_employee bigint, is_there boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := sync.seen_position();
  said jsonb := nullif(current_setting('fieldmirror.was', true), '')::jsonb;
  entry record;
  seen boolean;
BEGIN
  IF said ? 'employee_ids' THEN
    RETURN said->'employee_ids' ? of_employee::text;
  ELSIF place IS NULL THEN
    RETURN is_there;
  END IF;
  FOR entry IN
    SELECT told.operation, sync.is_written_by_me(told, change.state) AS is_own
      FROM sync.feed_entries AS told LEFT JOIN sync.changes AS change USING (change_id)
     WHERE told.table_name = 'job_employees' AND (position > place OR position IS NULL)
       AND told.row_id IN (
         SELECT of_link
          UNION
         SELECT link.row_id FROM warehouse.job_employees AS link
          WHERE link.account_id = job.account_id AND link.employee_id = of_employee
            AND (link.parent_row_id = job.row_id OR link.job_number = job.job_number)
          UNION
         SELECT past.row_id FROM history.past_job_employees AS past
          WHERE past.account_id = job.account_id AND past.employee_id = of_employee
            AND past.job_number = job.job_number)
     ORDER BY told.entry_id
  LOOP
    seen := CASE WHEN seen IS NULL THEN entry.operation <> 'created' ELSE seen END;
    IF entry.is_own THEN
      seen := entry.operation <> 'removed';
    END IF;
  END LOOP;
  RETURN coalesce(seen, is_there);
END
$$;
COMMENT ON FUNCTION sync.seen_assigned
  IS 'Whether the author of an assignment had seen the employee assigned to the job.';
