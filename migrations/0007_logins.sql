-- Passwords of employees on their way to the service: sealed with a worker's public key in the statement that gives them,
-- opened by the worker that sends them, wiped with the answer, and dropped after a quarter of an hour in any case.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgcrypto') THEN
    CREATE EXTENSION pgcrypto SCHEMA sync;
  END IF;
EXCEPTION
  WHEN OTHERS THEN
    RAISE WARNING 'the extension pgcrypto was not made (%): without it no password of an employee can be set; let somebody who may run CREATE EXTENSION pgcrypto', SQLERRM;
END $$;
--> statement-breakpoint
-- Seals a text with the latest public key of a worker, by pgcrypto, in whatever schema it is.
-- @returns null where pgcrypto is missing
CREATE FUNCTION sync.seal_login(secret text, public_key bytea) RETURNS bytea
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place text := (SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pgcrypto');
  sealed bytea;
BEGIN
  IF place IS NOT NULL THEN
    EXECUTE format('SELECT %s.pgp_pub_encrypt_bytea($1, $2, ''cipher-algo=aes256, compress-algo=0'')', place)
       INTO sealed USING convert_to(secret, 'UTF8'), public_key;
  END IF;
  RETURN sealed;
END
$$;
--> statement-breakpoint
-- Lets an employee log in with a name and a password. Nothing is raised: Postgres logs the text of a statement that fails,
-- and with it the password.
-- @param force - also for the employee whose token is in use, or may be: the new password makes that token invalid
-- @returns the change; or null, and why it was refused
CREATE FUNCTION sync.set_employee_login(
  employee_number bigint, username text, password text, force boolean DEFAULT false, account_id bigint DEFAULT NULL)
RETURNS TABLE (change_id bigint, refused text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  of_account sync.accounts;
  employee warehouse.employees;
  key sync.login_keys;
  sealed bytea;
  made bigint;
  writer text := coalesce(current_setting('fieldmirror.writer', true), '');
BEGIN
  refused := CASE
    WHEN coalesce(btrim($2), '') = '' THEN 'expected a username, got none'
    WHEN coalesce($3, '') = '' THEN 'expected a password, got none'
    WHEN $2 ~ E'[\\u0001-\\u001F\\u007F-\\u009F\\uFFFE\\uFFFF]' THEN 'expected a username without control characters, got one with them'
    WHEN $3 ~ E'[\\u0001-\\u001F\\u007F-\\u009F\\uFFFE\\uFFFF]' THEN 'expected a password without control characters, got one with them'
    WHEN $5 IS NULL AND (SELECT count(*) FROM sync.accounts) > 1 THEN 'expected account_id to be given, for there is more than one account: sync.accounts lists them'
    END;
  IF refused IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT * INTO key FROM sync.login_keys ORDER BY created_at DESC, login_key_id LIMIT 1 FOR KEY SHARE;
  SELECT * INTO of_account FROM sync.accounts WHERE account_id = coalesce($5, account_id);
  SELECT * INTO employee FROM warehouse.employees WHERE account_id = of_account.account_id AND employee_number = $1 FOR UPDATE;
  refused := CASE
    WHEN employee.row_id IS NULL THEN format('expected the number of an employee, got %s', coalesce($1::text, 'none'))
    WHEN employee._deleted_at IS NOT NULL THEN format('employee %s is deleted', $1)
    WHEN NOT coalesce($4, false) AND of_account.employee_id = employee.id
      THEN format('employee %s is the one whose token is in use: a new password makes it invalid, and everything stops until the new token is given; force => true does it all the same', $1)
    WHEN NOT coalesce($4, false) AND of_account.employee_id IS NULL
      THEN 'nobody knows yet whose token is in use (the first record that is created with it tells), and a new password would make that one''s invalid: force => true does it all the same'
    WHEN key.login_key_id IS NULL THEN 'no worker has made a key yet to seal the password with: start one'
    END;
  IF refused IS NULL THEN
    sealed := sync.seal_login($3, key.public_key);
    refused := CASE WHEN sealed IS NULL THEN 'the extension pgcrypto is missing: let somebody who may run CREATE EXTENSION pgcrypto' END;
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
     SET login_key_id = EXCLUDED.login_key_id, sealed = EXCLUDED.sealed, expires_at = EXCLUDED.expires_at;
  -- The row shows what is wanted, and no longer what a sweep or another change wrote.
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  UPDATE warehouse.employees
     SET username = $2, can_login = true, _pending = true, _sweep_id = NULL, _page = NULL, _change_id = NULL
   WHERE row_id = employee.row_id;
  PERFORM set_config('fieldmirror.writer', writer, true);
  change_id := made;
  RETURN NEXT;
EXCEPTION
  WHEN OTHERS THEN
    change_id := NULL;
    refused := format('it failed, and nothing was changed: %s', SQLERRM);
    RETURN NEXT;
END
$$;
--> statement-breakpoint
-- A password is wiped as soon as its change no longer waits to be sent: with the answer, or with the doubt.
CREATE FUNCTION sync.wipe_login() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM sync.employee_logins WHERE change_id = NEW.change_id;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER wipe_login AFTER UPDATE OF state ON sync.changes FOR EACH ROW
  WHEN (NEW.table_name = 'employees' AND NEW.operation = 'update' AND NEW.state NOT IN ('held', 'pending', 'sending'))
  EXECUTE FUNCTION sync.wipe_login();
--> statement-breakpoint
-- Drops the passwords whose time is up, and rejects their changes where nobody is sending them. @returns how many
-- @param of_key - drops those that it sealed, whatever their time: nobody has it any more
CREATE FUNCTION sync.drop_logins(of_key text DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  expired record;
  change sync.changes;
  dropped bigint := 0;
BEGIN
  FOR expired IN
    SELECT change_id, row_id FROM sync.employee_logins JOIN sync.changes USING (change_id) 
     WHERE expires_at <= clock_timestamp() OR login_key_id = of_key ORDER BY row_id, change_id
  LOOP
    PERFORM FROM warehouse.employees WHERE row_id = expired.row_id FOR UPDATE;
    SELECT * INTO change FROM sync.changes WHERE change_id = expired.change_id FOR UPDATE;
    -- It may have been set again meanwhile.
    DELETE FROM sync.employee_logins WHERE change_id = expired.change_id AND (expires_at <= clock_timestamp() OR login_key_id = of_key);
    CONTINUE WHEN NOT FOUND;
    dropped := dropped + 1;
    IF change.state IN ('held', 'pending') AND (change.lease_until IS NULL OR change.lease_until < clock_timestamp()) THEN
      PERFORM sync.close_change(change.change_id, 'rejected', format('the password was dropped %s: set it again',
        CASE WHEN of_key IS NULL THEN 'after 15 minutes' ELSE 'when the worker stopped that could open it' END));
    END IF;
  END LOOP;
  RETURN dropped;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION sync.set_employee_login(bigint, text, text, boolean, bigint) IS 'Lets an employee log in with a name and a password, which is sealed at once; gives the change, or why it was refused. Pass the password as a parameter.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.seal_login(text, bytea) IS 'Seals a text for who has the other half of a key; null without pgcrypto.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.wipe_login() IS 'Trigger: wipes the sealed password of a change that no longer waits to be sent.';
--> statement-breakpoint
COMMENT ON FUNCTION sync.drop_logins(text) IS 'Drops sealed passwords after their quarter of an hour, or all of a key, and rejects their changes.';
