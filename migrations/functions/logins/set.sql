-- Lets an employee log in with a name and a password. No error is raised: Postgres logs the text of
-- a statement that fails, and with it the password. A cancelled statement and one whose time is up
-- raise none either; OTHERS alone does not catch them. It waits for no lock that an author can
-- hold: a statement that waits, or that a deadlock of others names, is logged as well. For what is
-- left it waits 20 ms. Variables have no type of a table, which would be opened before errors are
-- caught.
-- @param force - also for the employee whose token is in use, or may be: the new password makes
-- that token invalid
-- @returns the change; or null, and why it was refused
CREATE OR REPLACE FUNCTION sync.set_employee_login(
  employee_number bigint, username text, password text, force boolean DEFAULT false,
    account_id bigint DEFAULT NULL)
RETURNS TABLE (change_id bigint, refused text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  SET lock_timeout = '20ms' AS $$
#variable_conflict use_column
DECLARE
  of_account record;
  employee record;
  key record;
  is_free boolean;
  sealed bytea;
  made bigint;
  own_accounts bigint[];
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
BEGIN
  own_accounts := sync.accounts_of(sync.caller());
  refused := CASE
    WHEN coalesce(btrim($2), '') = '' THEN 'expected a username, got none'
    WHEN coalesce($3, '') = '' THEN 'expected a password, got none'
    WHEN $2 ~ E'[\\u0001-\\u001F\\u007F-\\u009F\\uFFFE\\uFFFF]'
    THEN 'expected a username without control characters, got one with them'
    WHEN $3 ~ E'[\\u0001-\\u001F\\u007F-\\u009F\\uFFFE\\uFFFF]'
    THEN 'expected a password without control characters, got one with them'
    WHEN $5 IS NULL AND cardinality(own_accounts) > 1
      THEN format('expected account_id to be given, for there is more than one account: one of %s',
        array_to_string(own_accounts, ', '))
    WHEN $5 <> ALL (own_accounts) THEN format('expected account_id to be one of %s, got %s',
      array_to_string(own_accounts, ', '), $5)
    END;
  IF refused IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  LOCK TABLE warehouse.employees IN ROW EXCLUSIVE MODE NOWAIT;
  SELECT * INTO key FROM sync.login_keys ORDER BY created_at DESC, login_key_id LIMIT 1
  FOR KEY SHARE SKIP LOCKED;
  SELECT * INTO of_account FROM sync.accounts WHERE account_id = coalesce($5, own_accounts[1]);
  SELECT * INTO employee FROM warehouse.employees WHERE account_id = of_account.account_id
  AND employee_number = $1;
  PERFORM FROM warehouse.employees WHERE row_id = employee.row_id FOR UPDATE SKIP LOCKED;
  is_free := FOUND;
  IF is_free THEN
    -- What was committed between the two looks counts.
    SELECT * INTO employee FROM warehouse.employees WHERE row_id = employee.row_id;
    SELECT count(*) = count(free.change_id) INTO is_free FROM sync.changes AS open
      LEFT JOIN LATERAL (SELECT held.change_id FROM sync.changes AS held
        WHERE held.change_id = open.change_id FOR UPDATE SKIP LOCKED) AS free ON true
     WHERE open.table_name = 'employees' AND open.row_id = employee.row_id AND open.is_open;
  END IF;
  refused := CASE
    WHEN employee.row_id IS NULL THEN format('expected the number of an employee, got %s',
      coalesce($1::text, 'none'))
    WHEN NOT is_free THEN format('somebody else is writing employee %s just now, and a statement '
      'with a password in it waits for nobody: try again', $1)
    WHEN employee._deleted_at IS NOT NULL THEN format('employee %s is deleted', $1)
    WHEN NOT coalesce($4, false) AND of_account.employee_id = employee.id
      THEN format('employee %s is the one whose token is in use: a new password makes it invalid, '
        'and everything stops until the new token is given; force => true does it all the same', $1)
    WHEN NOT coalesce($4, false) AND of_account.employee_id IS NULL
      THEN 'nobody knows yet whose token is in use (the first record that is created with it '
        'tells), and a new password would make that one''s invalid: force => true does it all the '
        'same'
    WHEN key.login_key_id IS NULL THEN
      'no worker has made a key yet to seal the password with: start one'
    END;
  IF refused IS NULL THEN
    sealed := sync.seal_login($3, key.public_key);
    refused := CASE WHEN sealed IS NULL
      THEN 'the extension pgcrypto is missing: let somebody who may run CREATE EXTENSION pgcrypto'
      END;
  END IF;
  IF refused IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  PERFORM sync.record_change(
    employee.account_id, 'employees', employee.row_id, 'update', employee.employee_number,
    jsonb_build_object('can_login', 'true', 'username', $2, 'password', '(sealed)'),
    sync.as_texts(to_jsonb(employee), '{can_login,username}'), NULL, employee.external_key);
  made := sync.last_change();
  INSERT INTO sync.employee_logins AS held (change_id, login_key_id, sealed, expires_at)
  VALUES (made, key.login_key_id, sealed, clock_timestamp() + interval '15 minutes')
      ON CONFLICT ON CONSTRAINT employee_logins_pkey DO UPDATE
     SET login_key_id = EXCLUDED.login_key_id, sealed = EXCLUDED.sealed,
       expires_at = EXCLUDED.expires_at;
  -- The row shows the wanted login, and no longer the one that a sweep or another change wrote.
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  UPDATE warehouse.employees
     SET username = $2, can_login = true, _pending = true, _sweep_id = NULL, _page = NULL,
       _change_id = NULL
   WHERE row_id = employee.row_id;
  PERFORM set_config('fieldmirror.writer', writer, true);
  change_id := made;
  RETURN NEXT;
EXCEPTION
  WHEN OTHERS OR query_canceled OR assert_failure THEN
    change_id := NULL;
    refused := format('it failed, and nothing was changed: %s', SQLERRM);
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION sync.set_employee_login
  IS 'Lets an employee log in with a name and a password, which is sealed at once; gives the '
  'change, or why it was refused. Pass the password as a parameter.';
