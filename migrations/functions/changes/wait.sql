-- Waits until a change is settled, or needs a person. @returns its state; after the timeout, the
-- state at that time
CREATE OR REPLACE FUNCTION sync.wait(wanted bigint, timeout interval DEFAULT '30 seconds')
  RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  until timestamptz := clock_timestamp() + coalesce(timeout, '30 seconds');
  own bigint := pg_current_xact_id_if_assigned()::text::bigint;
  own_accounts bigint[] := sync.accounts_of(sync.caller());
  found text;
  made_by bigint;
BEGIN
  LOOP
    SELECT state, xmin::text::bigint INTO found, made_by FROM sync.changes
    WHERE change_id = wanted AND account_id = ANY (own_accounts);
    IF found IS NULL THEN
      RAISE EXCEPTION 'change %: no change has that number', wanted
        USING ERRCODE = 'no_data_found';
    -- If a change is visible although its transaction is in progress, it is our own. It is of this
    -- transaction, or of a savepoint in it, whose number is higher.
    ELSIF made_by >= own % 4294967296 AND
      pg_xact_status((own - own % 4294967296 + made_by)::text::xid8) = 'in progress' THEN
      RAISE EXCEPTION 'change %: it was made in this transaction, and no one sees it before you '
        'commit', wanted
        USING ERRCODE = 'active_sql_transaction', HINT = 'COMMIT first, then wait.';
    ELSIF found IN ('done', 'rejected', 'cancelled', 'conflict') OR clock_timestamp() >= until THEN
      RETURN found;
    END IF;
    PERFORM pg_sleep(least(0.05, extract(epoch FROM until - clock_timestamp())));
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.wait IS 'Waits until a change is settled, or needs a person, and gives '
  'its state; the state it is in when the time is up.';
