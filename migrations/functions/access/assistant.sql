-- Statements of an assistant. Each runs in a transaction that was bound to one account: the views
-- of `masked`, all that the role may read, show the rows of that account. Nothing that a statement
-- can do changes the account: the row of sync.assistant_scopes was written by the owner of this
-- function, bears the number of the transaction, and is never committed, so that no other session
-- sees it.
CREATE OR REPLACE FUNCTION sync.bind_assistant(account bigint, names boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM sync.accounts WHERE account_id = account) THEN
    RAISE EXCEPTION 'account %: no account has that number', account
      USING ERRCODE = 'no_data_found';
  END IF;
  INSERT INTO sync.assistant_scopes (transaction_id, account_id, names)
    VALUES (pg_current_xact_id()::text::bigint, account, names);
END
$$;
COMMENT ON FUNCTION sync.bind_assistant
  IS 'Binds the statements of an assistant in this transaction to an account, with the names of '
  'people or without. A transaction is bound once.';

CREATE OR REPLACE FUNCTION sync.assistant_account() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  bound bigint := (SELECT account_id FROM sync.assistant_scopes
    WHERE transaction_id = pg_current_xact_id_if_assigned()::text::bigint);
BEGIN
  IF bound IS NULL THEN
    RAISE EXCEPTION 'the views of the schema masked: expected a transaction that is bound to an '
      'account'
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'They are for the statements of fieldmirror mcp. Everybody else reads the schema '
        'mart.';
  END IF;
  RETURN bound;
END
$$;
COMMENT ON FUNCTION sync.assistant_account
  IS 'The account that this transaction is bound to: the views of masked show its rows.';

CREATE OR REPLACE FUNCTION sync.assistant_names() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT names FROM sync.assistant_scopes
    WHERE transaction_id = pg_current_xact_id_if_assigned()::text::bigint), false)
$$;
COMMENT ON FUNCTION sync.assistant_names
  IS 'Whether the views of masked show the names of people in this transaction.';

-- The function is owned by the role and runs as it. Inside, Postgres lets a statement change
-- neither its role nor its session. Because the function is STABLE, Postgres refuses every
-- statement that writes.
CREATE OR REPLACE FUNCTION sync.read_as_assistant(statement text, row_limit integer,
  byte_limit integer) RETURNS SETOF json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = masked, mart, pg_catalog, pg_temp
  SET cursor_tuple_fraction = 1 AS $$
DECLARE
  -- Rows are fetched one by one: a loop would hold fifty at once.
  asked refcursor;
  answered record;
  told json;
  bytes bigint := 0;
  counted integer := 0;
BEGIN
  IF current_user <> 'fieldmirror_assistant' THEN
    RAISE EXCEPTION 'sync.read_as_assistant: expected it to belong to fieldmirror_assistant, and '
      'it belongs to %', current_user
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'Let a superuser run SELECT sync.grant_roles().';
  END IF;
  OPEN asked NO SCROLL FOR EXECUTE statement;
  LOOP
    FETCH asked INTO answered;
    EXIT WHEN NOT FOUND;
    counted := counted + 1;
    -- A row that is too large is not written as JSON first.
    IF counted <= row_limit AND pg_column_size(answered) <= byte_limit THEN
      told := to_json(answered);
      bytes := bytes + octet_length(told::text);
    ELSE
      bytes := byte_limit + 1;
    END IF;
    IF bytes > byte_limit THEN
      RETURN NEXT NULL;
      RETURN;
    END IF;
    RETURN NEXT told;
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.read_as_assistant
  IS 'The rows of a statement, read as fieldmirror_assistant; a null at the end if there are '
  'more than the limits.';
REVOKE ALL ON FUNCTION sync.read_as_assistant FROM PUBLIC;

-- An earlier version read the names of people of every account, as another role.
DROP FUNCTION IF EXISTS sync.read_as_reader(text, integer, integer);

CREATE OR REPLACE FUNCTION sync.grant_assistant() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  GRANT USAGE ON SCHEMA masked, mart TO fieldmirror_assistant;
  GRANT SELECT ON ALL TABLES IN SCHEMA masked TO fieldmirror_assistant;
  -- These are the same for every account, and hold no name of a person.
  GRANT SELECT ON mart.dim_date, mart.dim_job_state TO fieldmirror_assistant;
  -- The views call them as the role that reads.
  GRANT EXECUTE ON FUNCTION sync.assistant_account(),
    sync.assistant_names() TO fieldmirror_assistant;
  PERFORM sync.hand_over_assistant();
END
$$;
COMMENT ON FUNCTION sync.grant_assistant
  IS 'What fieldmirror_assistant may do: read the star of the account that its transaction is '
  'bound to.';

-- The function above is given to the role that it runs as. This requires a superuser, or a member
-- of the role.
DROP FUNCTION IF EXISTS sync.hand_over(text);
CREATE OR REPLACE FUNCTION sync.hand_over_assistant() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT pg_has_role('fieldmirror_assistant', 'USAGE') THEN
    EXECUTE format('GRANT fieldmirror_assistant TO %I', current_user);
  END IF;
  -- To own a function, a role needs the right to make one in its schema.
  GRANT CREATE ON SCHEMA sync TO fieldmirror_assistant;
  ALTER FUNCTION sync.read_as_assistant OWNER TO fieldmirror_assistant;
  REVOKE CREATE ON SCHEMA sync FROM fieldmirror_assistant;
  IF to_regrole('fieldmirror_worker') IS NOT NULL THEN
    GRANT EXECUTE ON FUNCTION sync.read_as_assistant TO fieldmirror_worker;
  END IF;
EXCEPTION
  WHEN insufficient_privilege THEN
    RAISE WARNING 'sync.read_as_assistant is not of role fieldmirror_assistant yet, so fieldmirror '
      'mcp refuses statements: let a superuser run SELECT sync.grant_roles()';
END
$$;
COMMENT ON FUNCTION sync.hand_over_assistant
  IS 'Gives the function that reads as fieldmirror_assistant to that role.';
