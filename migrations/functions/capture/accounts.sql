-- The account of a row written without one: the only one there is. Who may write the warehouse need not read sync.accounts.
CREATE OR REPLACE FUNCTION sync.only_account() RETURNS bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found bigint[] := ARRAY(SELECT account_id FROM sync.accounts ORDER BY account_id LIMIT 2);
BEGIN
  IF cardinality(found) = 1 THEN
    RETURN found[1];
  END IF;
  RAISE EXCEPTION 'account_id: expected it to be given, for there is % account', CASE cardinality(found) WHEN 0 THEN 'no' ELSE 'more than one' END
    USING ERRCODE = 'not_null_violation', HINT = 'sync.accounts lists them.';
END
$$;
COMMENT ON FUNCTION sync.only_account IS 'The account, where there is only one: the default of account_id.';
