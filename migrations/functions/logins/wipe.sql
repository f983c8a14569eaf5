-- A password is wiped as soon as its change no longer waits to be sent: with the answer, or with
-- the doubt.
CREATE OR REPLACE FUNCTION sync.wipe_login() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM sync.employee_logins WHERE change_id = NEW.change_id;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.wipe_login
  IS 'Trigger: wipes the sealed password of a change that no longer waits to be sent.';

CREATE OR REPLACE TRIGGER wipe_login AFTER UPDATE OF state ON sync.changes FOR EACH ROW
  WHEN (NEW.table_name = 'employees' AND NEW.operation = 'update'
    AND NEW.state NOT IN ('held', 'pending', 'sending'))
  EXECUTE FUNCTION sync.wipe_login();

-- Drops the passwords whose time is up, and rejects their changes where no worker is sending them.
-- @returns how many
-- @param of_key - drops the passwords that this key sealed, whatever their time: no worker has the
-- key any more
CREATE OR REPLACE FUNCTION sync.drop_logins(of_key text DEFAULT NULL) RETURNS bigint
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    -- The password may have been set again meanwhile.
    DELETE FROM sync.employee_logins WHERE change_id = expired.change_id
      AND (expires_at <= clock_timestamp() OR login_key_id = of_key);
    CONTINUE WHEN NOT FOUND;
    dropped := dropped + 1;
    IF change.state IN ('held', 'pending')
      AND (change.lease_until IS NULL OR change.lease_until < clock_timestamp()) THEN
      PERFORM sync.close_change(change.change_id, 'rejected',
        format('the password was dropped %s: set it again',
        CASE WHEN of_key IS NULL THEN 'after 15 minutes'
          ELSE 'when the worker stopped that could open it' END));
    END IF;
  END LOOP;
  RETURN dropped;
END
$$;
COMMENT ON FUNCTION sync.drop_logins
  IS 'Drops sealed passwords after their quarter of an hour, or all of a key, and rejects their '
  'changes.';
