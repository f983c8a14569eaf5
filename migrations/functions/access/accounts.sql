-- Authors are bound to accounts. Row-level security lets an author see and write only the rows of
-- those accounts. It does not bind the owner; readers and workers have separate policies.

-- The accounts that a role may write. A role that may write as a worker has all of them. Any other
-- role has those granted to it, or to a role that it is a member of. A role without any grant has
-- the only account, if there is exactly one.
-- The accounts of a role are shown to that role, to its members and to those who may write as a
-- worker. A function made as SECURITY DEFINER writes as its owner, so its caller must be a member
-- of that role.
CREATE OR REPLACE FUNCTION sync.accounts_of(author name DEFAULT current_user) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint[];
  caller name := sync.caller();
BEGIN
  IF author <> caller AND NOT pg_has_role(caller, author, 'MEMBER')
     AND NOT has_function_privilege(caller, 'sync.write_as_worker()', 'EXECUTE') THEN
    RAISE EXCEPTION 'role %: expected your role, %, or one that it is a member of', author, caller
      USING ERRCODE = 'insufficient_privilege',
            HINT = 'The accounts of another role are shown only to its members.';
  END IF;
  IF has_function_privilege(author, 'sync.write_as_worker()', 'EXECUTE') THEN
    RETURN ARRAY(SELECT account_id FROM sync.accounts ORDER BY account_id);
  END IF;
  own := ARRAY(SELECT DISTINCT account_id FROM sync.author_accounts
                WHERE pg_has_role(author, to_regrole(quote_ident(role_name)), 'MEMBER')
                ORDER BY account_id);
  IF own = '{}' THEN
    own := ARRAY(SELECT account_id FROM sync.accounts ORDER BY account_id LIMIT 2);
    IF cardinality(own) > 1 THEN
      RAISE EXCEPTION 'role %: expected it to be bound to an account, for there are several', author
        USING ERRCODE = 'insufficient_privilege',
          HINT = format('Let the owner run SELECT sync.grant_account(%L, account), with its name.',
          author);
    END IF;
  END IF;
  RETURN own;
END
$$;
COMMENT ON FUNCTION sync.accounts_of
  IS 'The accounts that a role may write; where nothing was granted, the only one there is.';

-- The role that calls a function which runs as its owner: current_user is the owner there.
CREATE OR REPLACE FUNCTION sync.caller() RETURNS name
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE current_setting('role') WHEN 'none' THEN session_user
    ELSE current_setting('role')::name END
$$;
COMMENT ON FUNCTION sync.caller IS 'The role that calls a function which runs as its owner.';

-- The person who decides, for the record. A worker decides for a person who is signed in to the
-- console, and sets that person's name. Any other role decides in its own name, whatever it sets.
CREATE OR REPLACE FUNCTION sync.decider() RETURNS text
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN has_function_privilege(sync.caller(), 'sync.write_as_worker()', 'EXECUTE')
              THEN coalesce(nullif(current_setting('fieldmirror.person', true), ''), session_user)
                ELSE session_user END
$$;
COMMENT ON FUNCTION sync.decider IS
  'Who decides: the role of the session, or the person of the console for whom a worker decides.';

-- The application name of the connection, for the record. A worker sets `http: NAME` or `console:
-- NAME` to name the key or the person for whom it writes. If any other role sets such a name, the
-- name is put in quotes and does not count as that key or person.
CREATE OR REPLACE FUNCTION sync.application() RETURNS text
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN name ~* '^[^a-z0-9]*(http|console)[^a-z0-9]*:'
    AND NOT has_function_privilege(sync.caller(), 'sync.write_as_worker()', 'EXECUTE')
              THEN quote_literal(name) ELSE nullif(name, '') END
    FROM (SELECT current_setting('application_name') AS name) AS said
$$;
COMMENT ON FUNCTION sync.application
  IS 'What the connection calls itself; where it takes a name that only a worker may give, in '
  'quotes.';

-- An earlier form could not hold deletes.
DROP FUNCTION IF EXISTS sync.grant_account(name, text, text);

-- @param system - the outside system for which the role writes the account; null: as it was granted
-- before, at first `default`
-- @param holds_deletes - whether deletes wait until a person releases them; null: as it was granted
-- before, at first not
CREATE OR REPLACE FUNCTION sync.grant_account(author name, account text, system text DEFAULT NULL,
  holds_deletes boolean DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  granted bigint := (SELECT account_id FROM sync.accounts WHERE accounts.name = account);
BEGIN
  IF to_regrole(quote_ident(author)) IS NULL THEN
    RAISE EXCEPTION 'role %: no role has that name', author USING ERRCODE = 'undefined_object';
  ELSIF granted IS NULL THEN
    RAISE EXCEPTION 'account %: expected one of %, got another', account,
      (SELECT string_agg(accounts.name, ', ' ORDER BY 1) FROM sync.accounts)
      USING ERRCODE = 'no_data_found';
  END IF;
  PERFORM sync.check_system(system);
  INSERT INTO sync.author_accounts AS held (role_name, account_id, system, holds_deletes)
    VALUES (author, granted, coalesce(system, 'default'), coalesce($4, false))
    ON CONFLICT (role_name, account_id) DO UPDATE
      SET system = coalesce($3, held.system), holds_deletes = coalesce($4, held.holds_deletes)
    WHERE (held.system, held.holds_deletes)
      IS DISTINCT FROM (coalesce($3, held.system), coalesce($4, held.holds_deletes));
END
$$;
COMMENT ON FUNCTION sync.grant_account
  IS 'Binds a role to an account, beside those that it is bound to already: its members write that '
  'account, for an outside system; their deletes may be held.';

CREATE OR REPLACE FUNCTION sync.revoke_account(author name, account text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM sync.author_accounts AS held USING sync.accounts AS known
   WHERE held.account_id = known.account_id AND known.name = account AND held.role_name = author
$$;
COMMENT ON FUNCTION sync.revoke_account IS 'Takes an account from a role.';
