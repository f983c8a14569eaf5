-- Notifies workers of due changes, and every listener of settled ones. Any login may listen, so a
-- notice has numbers and a state, and never a value, nor a key of an outside system.
CREATE OR REPLACE FUNCTION sync.tell_change() RETURNS trigger
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.state IN ('pending', 'in_doubt') AND NEW.waits_for IS NULL THEN
    IF NEW.due_at <= clock_timestamp() THEN
      PERFORM pg_notify('fieldmirror_due', NEW.account_id::text);
    END IF;
  ELSIF NOT NEW.is_open OR NEW.state = 'conflict' THEN
    PERFORM pg_notify('fieldmirror_changes',
      json_build_object('change_id', NEW.change_id, 'state', NEW.state,
        'account_id', NEW.account_id, 'table', NEW.table_name, 'row_id', NEW.row_id,
        'number', NEW.number)::text);
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.tell_change
  IS 'Trigger: NOTIFY of what is due (fieldmirror_due) and settled (fieldmirror_changes).';

CREATE OR REPLACE TRIGGER tell_insert AFTER INSERT ON sync.changes FOR EACH ROW
  EXECUTE FUNCTION sync.tell_change();

CREATE OR REPLACE TRIGGER tell_update AFTER UPDATE ON sync.changes FOR EACH ROW
  WHEN (NEW.state <> OLD.state OR NEW.waits_for IS DISTINCT FROM OLD.waits_for
    OR NEW.due_at < OLD.due_at) EXECUTE FUNCTION sync.tell_change();

-- Notifies open pages of the console that data changed: one notice for each transaction, whatever
-- it wrote. A page that misses a notice only shows older data.
CREATE OR REPLACE FUNCTION sync.tell_pages() RETURNS trigger
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('fieldmirror_pages', TG_TABLE_NAME);
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.tell_pages
  IS 'Trigger: NOTIFY of what moved (fieldmirror_pages), by the name of the table.';

CREATE OR REPLACE TRIGGER tell_pages AFTER INSERT OR UPDATE ON sync.changes FOR EACH STATEMENT
  EXECUTE FUNCTION sync.tell_pages();
-- Renewing a lease sends no notice.
CREATE OR REPLACE TRIGGER tell_pages AFTER INSERT OR UPDATE OF state, stage, next_page, records
  ON sync.sweeps
  FOR EACH STATEMENT EXECUTE FUNCTION sync.tell_pages();
CREATE OR REPLACE TRIGGER tell_pages AFTER INSERT OR UPDATE OF state ON sync.accounts
  FOR EACH STATEMENT EXECUTE FUNCTION sync.tell_pages();
CREATE OR REPLACE TRIGGER tell_pages AFTER INSERT OR UPDATE ON sync.alerts FOR EACH STATEMENT
  EXECUTE FUNCTION sync.tell_pages();
CREATE OR REPLACE TRIGGER tell_pages AFTER INSERT OR UPDATE OR DELETE ON sync.alert_rules
  FOR EACH STATEMENT EXECUTE FUNCTION sync.tell_pages();
-- A claim alone sends no notice: workers make one every ten seconds, mostly without a delivery.
CREATE OR REPLACE TRIGGER tell_pages AFTER UPDATE OF sent_at, last_error ON sync.alert_deliveries
  FOR EACH STATEMENT EXECUTE FUNCTION sync.tell_pages();
CREATE OR REPLACE TRIGGER tell_pages AFTER INSERT OR DELETE ON sync.feed_hooks FOR EACH STATEMENT
  EXECUTE FUNCTION sync.tell_pages();
-- A subscriber that receives one batch after another sends no notice. A notice is sent only when it
-- fails, stops, works again, or is set up again.
CREATE OR REPLACE TRIGGER tell_pages_of_state AFTER UPDATE ON sync.feed_hooks FOR EACH ROW
  WHEN (NEW.attempts <> OLD.attempts OR NEW.stopped_at IS DISTINCT FROM OLD.stopped_at
    OR NEW.failing_since IS DISTINCT FROM OLD.failing_since
        OR (NEW.key_id, NEW.account_id, NEW.tables) IS DISTINCT FROM (OLD.key_id, OLD.account_id,
          OLD.tables))
  EXECUTE FUNCTION sync.tell_pages();
CREATE OR REPLACE TRIGGER tell_pages AFTER INSERT OR DELETE ON sync.feed_dead_letters
  FOR EACH STATEMENT EXECUTE FUNCTION sync.tell_pages();
