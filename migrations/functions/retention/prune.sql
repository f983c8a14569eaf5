-- Removes what is no longer kept, a batch at a time. The functions run as their owner: a worker
-- removes what sync.retention permits, and nothing else.

-- The moment before which things of a kind are not kept; null if they are kept for ever. It is
-- never later than the clock and the setting give, whatever moment the caller names.
CREATE OR REPLACE FUNCTION sync.kept_since(of_kind text, at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT least(at, now()) - CASE of_kind WHEN 'feed'
    THEN (SELECT make_interval(days => keep_days) FROM sync.feed_state)
                                 ELSE (SELECT kept_for FROM sync.retention WHERE kind = of_kind) END
$$;
COMMENT ON FUNCTION sync.kept_since
  IS 'The time before which things of a kind are not kept; null where they are kept for ever.';

CREATE OR REPLACE FUNCTION sync.prune(of_kind text, most integer, at timestamptz DEFAULT now())
  RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cutoff timestamptz := sync.kept_since(of_kind, at);
  gone bigint;
BEGIN
  IF cutoff IS NULL THEN
    RETURN 0;
  END IF;
  gone := CASE of_kind
    WHEN 'quiet_sweeps' THEN sync.fold_sweeps(cutoff, most)
    WHEN 'settled_changes' THEN sync.prune_changes(cutoff, most)
    WHEN 'versions' THEN sync.prune_versions(cutoff, most)
    WHEN 'alerts' THEN sync.prune_alerts(cutoff, most)
    WHEN 'audit' THEN sync.prune_audit(cutoff, most)
    WHEN 'sessions' THEN sync.prune_sessions(cutoff, most)
    WHEN 'reports' THEN sync.prune_reports(cutoff, most)
    WHEN 'feed' THEN sync.prune_feed(cutoff, most) END;
  -- The feed has no row here: its own row holds the position up to which entries were removed.
  IF gone > 0 THEN
    UPDATE sync.retention SET removed = removed + gone, pruned_to = greatest(pruned_to, cutoff)
      WHERE kind = of_kind;
  END IF;
  RETURN gone;
END
$$;
COMMENT ON FUNCTION sync.prune IS 'Removes up to so many things of a kind that are no longer kept, '
  'and says how many.';

-- Counts the rows that sync.prune would remove.
CREATE OR REPLACE FUNCTION sync.count_prunable(of_kind text, at timestamptz DEFAULT now())
  RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cutoff timestamptz := sync.kept_since(of_kind, at);
BEGIN
  RETURN CASE WHEN cutoff IS NULL THEN 0 ELSE CASE of_kind
    WHEN 'quiet_sweeps' THEN (SELECT count(*) FROM sync.foldable_sweeps(cutoff))
    WHEN 'settled_changes' THEN (SELECT count(*) FROM sync.prunable_changes(cutoff))
    WHEN 'versions' THEN sync.count_prunable_versions(cutoff)
    WHEN 'alerts' THEN (SELECT count(*) FROM sync.alerts WHERE resolved_at < cutoff)
    WHEN 'audit' THEN (SELECT count(*) FROM sync.audit AS entry WHERE entry.at < cutoff)
    WHEN 'sessions' THEN (SELECT count(*) FROM sync.sessions WHERE expires_at < cutoff)
    WHEN 'reports' THEN (SELECT count(*) FROM sync.prunable_mails(cutoff))
      + (SELECT count(*) FROM sync.prunable_figures(cutoff))
    WHEN 'feed' THEN sync.count_prunable_feed(cutoff) END END;
END
$$;
COMMENT ON FUNCTION sync.count_prunable IS 'How many things of a kind are no longer kept.';
