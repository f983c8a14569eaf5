-- The outcome of a change is in the feed as well, if its author requests it. So one cursor covers
-- rows as well as refusals, conflicts and changes that are done. Such an entry names no row: it is
-- no version of a row, and does not count as a read or a write of one.
CREATE OR REPLACE FUNCTION sync.note_settled() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sync.feed_entries (account_id, table_name, operation, at, written_by, application,
    change_id)
  VALUES (NEW.account_id, NEW.table_name, NEW.state, now(), NEW.requested_by, NEW.application,
    NEW.change_id);
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.note_settled
  IS 'Trigger: adds an entry for a change that is settled, or in conflict.';

CREATE OR REPLACE TRIGGER note_settled AFTER UPDATE OF state ON sync.changes FOR EACH ROW
  WHEN (NEW.state <> OLD.state AND NEW.state IN ('done', 'rejected', 'conflict', 'cancelled'))
  EXECUTE FUNCTION sync.note_settled();
