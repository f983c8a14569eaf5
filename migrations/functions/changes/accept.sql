-- Records that a person has accepted the values that the service made of a change; the changes held
-- for them continue. The first statement waits for a worker that is just holding a change for the
-- same kind. The last statement then sees that change.
CREATE OR REPLACE FUNCTION sync.accept_change(wanted bigint) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{done}', 'accept what the service made of it');
  kinds text[];
BEGIN
  WITH accepted AS (
    UPDATE sync.alterations SET accepted_at = now(), accepted_by = sync.decider(), is_stop = false
     WHERE change_id = wanted AND accepted_at IS NULL RETURNING kind)
  SELECT array_agg(kind) INTO kinds FROM accepted;
  IF kinds IS NULL THEN
    RAISE EXCEPTION 'change %: expected one that the service altered, and that no one has accepted '
      'yet', wanted
      USING ERRCODE = 'object_not_in_prerequisite_state',
        HINT = 'fieldmirror changes list --state altered';
  END IF;
  UPDATE sync.alterations SET is_stop = false WHERE account_id = change.account_id
    AND kind = ANY (kinds) AND is_stop;
  UPDATE sync.changes SET state = 'pending', held_for = NULL, reason = NULL, due_at = now()
   WHERE account_id = change.account_id AND state = 'held' AND held_for = ANY (kinds);
  RETURN change.state;
END
$$;
COMMENT ON FUNCTION sync.accept_change
  IS 'Says that a person has checked what the service made of a change; changes of that kind '
  'continue. Gives its state.';
