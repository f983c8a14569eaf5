-- Stamps an updated row. A version begins when its transaction began, so that a job and its
-- children change at the same instant. A version never begins before the row's last version ended.
-- Two writes in one transaction are separated by a microsecond, and so is a later write by a
-- transaction that began earlier. The state at a moment is therefore settled once every transaction
-- begun before it has ended; the state at the end of a past sweep always is. A sweep sets the
-- stamps of its rows. The trigger runs for the other rows, and for a sweep whose stamp would not be
-- later. Argument: `sweep` or `edit`.
CREATE OR REPLACE FUNCTION history.stamp() RETURNS trigger
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  same record := NEW;
BEGIN
  IF TG_ARGV[0] = 'edit' THEN
    -- Rows are compared by image: 1.5 and 1.50 are equal and not the same. An update that changes
    -- nothing is kept without a stamp. If the row were dropped here, it would be missing from the
    -- count of the statement, and the author would think that it was lost. Postgres counts such a
    -- row only if it writes a tuple for it: measured, 600 bytes of WAL a row. Sweeps never update a
    -- row without a change.
    IF NEW *= OLD THEN
      RETURN NEW;
    END IF;
    IF NEW.row_id <> OLD.row_id THEN
      RAISE EXCEPTION 'warehouse.%, row %: row_id never changes', TG_TABLE_NAME, OLD.row_id
        USING ERRCODE = 'integrity_constraint_violation', HINT = 'Leave row_id out of the UPDATE.';
    END IF;
    -- external_key is the author's own key and is no part of the record that the service sent.
    same.external_key := OLD.external_key;
    IF NOT same *= OLD THEN
      -- While a change is on its way, the row is still based on the record that the service sent.
      -- Without a change it no longer is: the hash is removed, and the next sweep reads the record
      -- again.
      IF NEW._pending IS NULL THEN
        NEW._hash := NULL;
      END IF;
      NEW._sweep_id := NULL;
      NEW._change_id := NULL;
      NEW._page := NULL;
    END IF;
  END IF;
  NEW._changed_at := greatest(now(), OLD._changed_at + interval '1 microsecond');
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION history.stamp IS
  'Trigger: says when the new version of an updated row begins, and that no sweep wrote it where '
  'none did; an update that changes nothing is no new version.';
