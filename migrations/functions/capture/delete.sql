-- Captures a DELETE by an author. The row comes back as a tombstone, with the same row_id, until
-- the service has deleted the record. A row that the service never knew is removed for good,
-- together with its create. A tombstone that still had unsent changes stays without them. If
-- another writer changed the row unseen by the author, a person decides the delete. If the author
-- says what it has seen, or takes a create back, the change keeps the values of the row, and a
-- worker compares the record with them before it deletes it.
CREATE OR REPLACE FUNCTION sync.capture_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  captured sync.captured_tables;
  number bigint;
  change sync.changes;
  is_on_its_way boolean := false;
  before jsonb := '{}';
  is_gone boolean := false;
  is_compared boolean := sync.seen_position() IS NOT NULL
    OR current_setting('fieldmirror.was', true) <> ''
    OR current_setting('fieldmirror.undoes', true) <> '';
  unseen jsonb := sync.unseen(TG_TABLE_NAME, sync.seen_row(TG_TABLE_NAME, to_jsonb(OLD)),
    to_jsonb(OLD), ARRAY(SELECT field FROM sync.write_rules WHERE table_name = TG_TABLE_NAME));
BEGIN
  SELECT * INTO STRICT captured FROM sync.captured_tables WHERE table_name = TG_TABLE_NAME;
  number := (to_jsonb(OLD)->>captured.key_column)::bigint;
  PERFORM FROM sync.changes WHERE table_name = TG_TABLE_NAME AND row_id = OLD.row_id AND is_open
    ORDER BY change_id FOR UPDATE;
  FOR change IN
    SELECT * FROM sync.changes WHERE table_name = TG_TABLE_NAME AND row_id = OLD.row_id AND is_open
    ORDER BY change_id DESC
  LOOP
    -- The record of a create that a person must settle may or may not be at the service. Unseen
    -- values that another writer wants are not given up for the delete.
    IF unseen ?| ARRAY(SELECT jsonb_object_keys(change.fields))
      OR change.state IN ('sending', 'in_doubt') OR change.lease_until > clock_timestamp()
      OR change.state = 'conflict' AND change.operation = 'create' THEN
      is_on_its_way := true;
    ELSE
      PERFORM sync.close_change(change.change_id, 'cancelled',
        'the row was deleted before it was sent');
      before := before || (SELECT coalesce(jsonb_object_agg(key, value), '{}')
        FROM jsonb_each(change.base) WHERE change.fields ? key);
    END IF;
  END LOOP;
  IF number IS NULL AND NOT is_on_its_way THEN
    PERFORM sync.forget_row(TG_TABLE_NAME, OLD.row_id);
    RETURN NULL;
  ELSIF 'delete' <> ALL (captured.operations) THEN
    RAISE EXCEPTION 'warehouse.%: the service cannot delete one', TG_TABLE_NAME
      USING ERRCODE = 'integrity_constraint_violation', HINT = captured.hint;
  ELSIF OLD._deleted_at IS NOT NULL AND NOT is_on_its_way THEN
    -- The service has deleted the record; the changes that were still to be sent are given up.
    is_gone := true;
  END IF;
  PERFORM set_config('fieldmirror.writer', 'sweep', true);
  EXECUTE format('INSERT INTO warehouse.%I OVERRIDING SYSTEM VALUE SELECT kept.* FROM '
    'jsonb_populate_record($1, $2) AS kept', TG_TABLE_NAME)
    USING OLD, before || jsonb_build_object('_changed_at',
      greatest(now(), OLD._changed_at + interval '1 microsecond'))
               || CASE WHEN is_gone THEN '{"_pending": null}' ELSE
                  jsonb_build_object('_deleted_at', coalesce(OLD._deleted_at, now()), '_pending',
                    true, '_sweep_id', NULL, '_page', NULL, '_change_id', NULL) END;
  PERFORM set_config('fieldmirror.writer', '', true);
  IF OLD._deleted_at IS NULL THEN
    PERFORM sync.record_change(OLD.account_id, TG_TABLE_NAME, OLD.row_id, 'delete', number, '{}',
      CASE WHEN is_compared THEN sync.as_texts(to_jsonb(OLD) || before, ARRAY(
        SELECT field FROM sync.write_rules WHERE table_name = TG_TABLE_NAME AND kind <> 'ids'))
           ELSE '{}' END, NULL, OLD.external_key, unseen);
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.capture_delete
  IS 'Trigger: makes a change of a DELETE, or refuses it, and leaves a tombstone.';
