-- Row-level security on every table that bears an account and that an author may read. The subquery
-- runs once a statement, and a policy of USING (true) costs nothing: sweeps and readers are as fast
-- as without it.
CREATE OR REPLACE FUNCTION sync.make_policy(target regclass, name text, clause text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = target AND polname = name) THEN
    EXECUTE format('CREATE POLICY %I ON %s %s', name, target, clause);
  END IF;
END
$$;
COMMENT ON FUNCTION sync.make_policy IS 'Makes a policy where it is missing.';

CREATE OR REPLACE FUNCTION sync.confine_authors() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  target regclass;
BEGIN
  FOR target IN
    SELECT oid FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'warehouse'::regnamespace
     OR oid IN ('sync.changes'::regclass, 'sync.attempts'::regclass, 'sync.conflicts'::regclass,
       'sync.alterations'::regclass, 'sync.links'::regclass)
  LOOP
    IF NOT (SELECT relrowsecurity FROM pg_class WHERE oid = target) THEN
      EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    END IF;
    PERFORM sync.make_policy(target, 'own_accounts', format('USING (%s)',
      CASE WHEN target IN ('sync.attempts'::regclass, 'sync.conflicts'::regclass)
        THEN format('EXISTS (SELECT FROM sync.changes AS change WHERE change.change_id = '
        '%s.change_id)', (SELECT relname FROM pg_class WHERE oid = target))
        WHEN target = 'sync.links'::regclass
        THEN '(account_id, system) IN (SELECT account_id, system FROM sync.systems_of())'
           ELSE 'account_id = ANY ((SELECT sync.accounts_of())::bigint[])' END));
    IF to_regrole('fieldmirror_worker') IS NOT NULL THEN
      PERFORM sync.make_policy(target, 'worker', 'TO fieldmirror_worker USING (true)');
    END IF;
    IF to_regrole('fieldmirror_reader') IS NOT NULL
      AND target NOT IN ('sync.changes'::regclass, 'sync.attempts'::regclass,
      'sync.conflicts'::regclass, 'sync.alterations'::regclass, 'sync.links'::regclass) THEN
      PERFORM sync.make_policy(target, 'reader', 'FOR SELECT TO fieldmirror_reader USING (true)');
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.confine_authors
  IS 'Turns row-level security on, so that authors see and write their own accounts.';
