-- Entries of the feed are removed from the oldest on, without gaps. Their days are
-- sync.feed_state.keep_days.

-- The last position that may be removed, of the oldest entries; null if none may. Entries that
-- still have to be sent to a subscriber that is not stopped stay up to twice as long: it may be
-- that no worker has run for weeks.
-- @param most - entries to examine; null: all
CREATE OR REPLACE FUNCTION sync.prunable_feed(cutoff timestamptz, most integer DEFAULT NULL)
  RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT max(position) FROM (
    SELECT position, bool_and(at < cutoff
      AND (position <= sent OR at < cutoff - make_interval(days => keep_days))) OVER
      (ORDER BY position) AS is_old
      FROM (SELECT keep_days, removed_to,
                   coalesce((SELECT min(split_part(cursor, '-', 2)::bigint) FROM sync.feed_hooks
                              WHERE stopped_at IS NULL AND split_part(cursor, '-', 1) = feed_id),
                                last_position) AS sent
              FROM sync.feed_state) AS state,
           LATERAL (SELECT position, at FROM sync.feed_entries WHERE position > removed_to
             ORDER BY position LIMIT most) AS oldest) AS judged
   WHERE is_old
$$;
COMMENT ON FUNCTION sync.prunable_feed
  IS 'The last position of the feed that is no longer kept; null where all are.';

CREATE OR REPLACE FUNCTION sync.prune_feed(cutoff timestamptz, most integer) RETURNS bigint
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  last bigint := sync.prunable_feed(cutoff, most);
  gone bigint;
BEGIN
  IF last IS NULL THEN
    RETURN 0;
  END IF;
  UPDATE sync.feed_state SET removed_to = greatest(removed_to, last);
  DELETE FROM sync.feed_entries WHERE position <= last;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END
$$;
COMMENT ON FUNCTION sync.prune_feed
  IS 'Removes up to so many entries of the feed that are no longer kept.';

CREATE OR REPLACE FUNCTION sync.count_prunable_feed(cutoff timestamptz) RETURNS bigint
  LANGUAGE sql STABLE AS $$
  SELECT count(*) FROM sync.feed_entries WHERE position <= sync.prunable_feed(cutoff)
$$;
COMMENT ON FUNCTION sync.count_prunable_feed IS 'How many entries of the feed are no longer kept.';
