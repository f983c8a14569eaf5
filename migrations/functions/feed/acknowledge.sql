-- The place of an author in the feed, with a small state that the author stores. It is written in
-- the transaction of the author's writes, so a rollback takes both back, and a backup of the
-- warehouse has both. A row belongs to an account and to a role, or to a key of the HTTP API as
-- `http: NAME`. Only that role reads and writes it.

-- The name of the reader that calls. A worker reads and writes for a key.
CREATE OR REPLACE FUNCTION sync.feed_reader(named text) RETURNS text
  LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  caller name := sync.caller();
BEGIN
  IF named IS NOT NULL AND named <> caller
    AND NOT has_function_privilege(caller, 'sync.write_as_worker()', 'EXECUTE') THEN
    RAISE EXCEPTION 'reader: expected nothing, got %: a login has only its own place',
      quote_literal(left(named, 50)) USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN coalesce(named, caller);
END
$$;
COMMENT ON FUNCTION sync.feed_reader
  IS 'The reader whose place in the feed the caller has: its role, or the key that a worker names.';

-- @param state - any JSON of at most 8 kB; null: as it was
-- @param of_account - null: the only account that the caller may write
CREATE OR REPLACE FUNCTION sync.feed_ack(cursor text, state jsonb DEFAULT NULL,
  of_account bigint DEFAULT NULL, reader text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  me text := sync.feed_reader(reader);
  own bigint[] := sync.accounts_of(sync.caller());
  size integer := octet_length(state::text);
BEGIN
  IF of_account IS NULL AND cardinality(own) <> 1 THEN
    RAISE EXCEPTION 'of_account: expected the number of an account, for there are several, got none'
      USING ERRCODE = 'invalid_parameter_value',
        HINT = format('Your accounts are %s.', array_to_string(own, ', '));
  ELSIF of_account <> ALL (own) THEN
    RAISE EXCEPTION 'of_account: expected one of your accounts, %, got %',
      array_to_string(own, ', '), of_account
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'Nothing was stored. An author has a place in the accounts that it may write.';
  ELSIF cursor IS NULL THEN
    RAISE EXCEPTION 'cursor: expected one that the feed gave, got none'
      USING ERRCODE = 'invalid_parameter_value', HINT = 'SELECT sync.feed_end() gives that of now.';
  ELSIF size > 8192 THEN
    RAISE EXCEPTION 'state: expected at most 8192 bytes as text, got %', size
      USING ERRCODE = 'invalid_parameter_value',
        HINT = 'Keep in it what your program needs to continue, such as the time of its last run.';
  END IF;
  PERFORM sync.feed_position(cursor);
  INSERT INTO sync.feed_acks AS held (account_id, reader, cursor, state)
    VALUES (coalesce(of_account, own[1]), me, feed_ack.cursor, feed_ack.state)
    ON CONFLICT ON CONSTRAINT feed_acks_pkey DO UPDATE
    SET cursor = EXCLUDED.cursor, state = coalesce(EXCLUDED.state, held.state), acked_at = now();
END
$$;
COMMENT ON FUNCTION sync.feed_ack
  IS 'Stores up to where the caller has followed the feed, with a small state for it, in this '
  'transaction.';

CREATE OR REPLACE FUNCTION sync.feed_place(of_account bigint DEFAULT NULL,
  reader text DEFAULT NULL)
  RETURNS TABLE (account text, cursor text, state jsonb, acked_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT account.name, held.cursor, held.state, held.acked_at
    FROM sync.feed_acks AS held JOIN sync.accounts AS account USING (account_id)
   WHERE held.reader = sync.feed_reader(feed_place.reader)
     AND held.account_id = ANY (sync.accounts_of(sync.caller()))
     AND (of_account IS NULL OR held.account_id = of_account)
   ORDER BY account.name
$$;
COMMENT ON FUNCTION sync.feed_place
  IS 'What the caller stored by sync.feed_ack: its cursor and state in each of its accounts.';
