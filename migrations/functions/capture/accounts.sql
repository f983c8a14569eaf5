-- The account of a row written without one: the only one that its author may write.
-- It runs in the session of whoever inserts, so it must not find functions of others in schemas
-- that this session searches.
CREATE OR REPLACE FUNCTION sync.only_account() RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint[] := sync.accounts_of();
BEGIN
  IF cardinality(own) = 1 THEN
    RETURN own[1];
  END IF;
  RAISE EXCEPTION 'account_id: expected it to be given, for there is % account',
    CASE cardinality(own) WHEN 0 THEN 'no' ELSE 'more than one' END
    USING ERRCODE = 'not_null_violation',
      HINT = format('Your accounts are %s.', array_to_string(own, ', '));
END
$$;
COMMENT ON FUNCTION sync.only_account
  IS 'The account, if there is only one that the author may write: the default of account_id.';

-- Refuses an UPDATE or DELETE that reached the rows of several accounts: a number means another
-- record in each.
CREATE OR REPLACE FUNCTION sync.refuse_several_accounts() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  touched_accounts text[] := ARRAY(
    SELECT format('%s (%s)', account_id, name) FROM sync.accounts
    WHERE account_id IN (SELECT touched.account_id FROM touched) ORDER BY account_id);
BEGIN
  IF cardinality(touched_accounts) > 1 THEN
    RAISE EXCEPTION 'warehouse.%: expected % of one account, got rows of %: a number means another '
      'record in each', TG_TABLE_NAME,
        CASE TG_OP WHEN 'UPDATE' THEN 'an UPDATE' ELSE 'a DELETE' END,
          array_to_string(touched_accounts, ', ')
      USING ERRCODE = 'cardinality_violation',
        HINT = 'Nothing was changed. Name the account, as in … AND account_id = 1; one statement '
        'for each account.';
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.refuse_several_accounts
  IS 'Trigger: refuses an author''s UPDATE or DELETE of the rows of several accounts.';
