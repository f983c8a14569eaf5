-- Refuses a text that is no name of an outside system; null is accepted.
CREATE OR REPLACE FUNCTION sync.check_system(named text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF named !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$' THEN
    RAISE EXCEPTION 'system: expected a name of up to 50 letters, digits, dots, underscores and '
      'hyphens, got %', quote_literal(left(named, 60))
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
END
$$;
COMMENT ON FUNCTION sync.check_system IS 'Refuses what is no name of an outside system.';

-- The outside system for which a role reads and writes an account: that of its own grant, else that
-- of the roles it is a member of. Without a grant, and for a worker, it is `default`.
CREATE OR REPLACE FUNCTION sync.system_of(of_account bigint, author name) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := (SELECT system FROM sync.author_accounts
    WHERE account_id = of_account AND role_name = author);
  inherited text[];
BEGIN
  IF own IS NOT NULL OR has_function_privilege(author, 'sync.write_as_worker()', 'EXECUTE') THEN
    RETURN coalesce(own, 'default');
  END IF;
  inherited := ARRAY(SELECT DISTINCT system FROM sync.author_accounts
    WHERE account_id = of_account AND pg_has_role(author, to_regrole(quote_ident(role_name)),
      'MEMBER') ORDER BY 1);
  IF cardinality(inherited) > 1 THEN
    RAISE EXCEPTION 'role %: expected one system in account %, got % by the roles that it is a '
      'member of', author, (SELECT name FROM sync.accounts WHERE account_id = of_account),
        array_to_string(inherited, ', ')
      USING ERRCODE = 'cardinality_violation',
        HINT = format('Let the owner run SELECT sync.grant_account(%L, account, system => one of '
        'them).', author);
  END IF;
  RETURN coalesce(inherited[1], 'default');
END
$$;
COMMENT ON FUNCTION sync.system_of
  IS 'The outside system for which a role reads and writes an account.';

-- The system for each account that a role may write: a policy calls this once per statement.
CREATE OR REPLACE FUNCTION sync.systems_of(author name DEFAULT current_user)
  RETURNS TABLE (account_id bigint, system text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT own, sync.system_of(own, author) FROM unnest(sync.accounts_of(author)) AS own
$$;
COMMENT ON FUNCTION sync.systems_of
  IS 'The accounts that a role may write, each with the outside system for which it does.';

-- The system whose keys the caller means in one of its accounts: its own, if it names none. A
-- worker writes for others, such as a key of the HTTP API, and may name any.
CREATE OR REPLACE FUNCTION sync.meant_system(of_account bigint, named text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sync.system_of(of_account, sync.caller());
BEGIN
  IF named IS NOT NULL AND named <> own
    AND NOT has_function_privilege(sync.caller(), 'sync.write_as_worker()', 'EXECUTE') THEN
    RAISE EXCEPTION 'system: expected %, for which role % writes account %, got %', own,
      sync.caller(), (SELECT name FROM sync.accounts WHERE account_id = of_account),
      quote_literal(left(named, 50))
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'Leave the system out to mean your own.';
  END IF;
  PERFORM sync.check_system(named);
  RETURN coalesce(named, own);
END
$$;
COMMENT ON FUNCTION sync.meant_system
  IS 'The outside system whose keys the caller means; refuses that of another.';

-- external_key is the key of the system `default`: an author for another system may not change it.
CREATE OR REPLACE FUNCTION sync.check_external_key() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := sync.system_of(NEW.account_id, sync.caller());
BEGIN
  IF own <> 'default' THEN
    PERFORM sync.refuse_column(TG_TABLE_NAME, 'external_key',
      format('expected a key of the system default by a role of it, got one by %s, which writes '
        'for %s', sync.caller(), own),
      format(CASE WHEN NEW.external_key IS NULL
        THEN 'Leave it out, and call sync.remove_link(%L, row_id).'
        ELSE 'Leave it out, and call sync.set_link(%L, row_id, key).' END, TG_TABLE_NAME));
  ELSIF length(NEW.external_key) NOT BETWEEN 1 AND 200 THEN
    PERFORM sync.refuse_column(TG_TABLE_NAME, 'external_key',
      format('expected 1 to 200 characters, got %s', length(NEW.external_key)),
      'NULL says that the row has no key.');
  END IF;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.check_external_key
  IS 'Trigger: refuses external_key to an author for another system, and a key of wrong length.';
