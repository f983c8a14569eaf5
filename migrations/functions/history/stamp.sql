-- Stamps an updated row. A version begins when its transaction began, so that a job and its
-- children change at the same instant. A version never begins before the row's last version ended:
-- two writes in one transaction, or a transaction that began earlier and writes later, are told
-- apart by a microsecond. The state at a moment is therefore settled once every transaction begun
-- before it has ended; the state at the end of a past sweep always is. A sweep stamps its rows
-- itself. The trigger runs for the other rows, and for a sweep whose stamp would not be later.
-- Argument: `sweep` or `edit`.
CREATE OR REPLACE FUNCTION history.stamp() RETURNS trigger
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  same record := NEW;
BEGIN
  IF TG_ARGV[0] = 'edit' THEN
    -- Rows are compared by image: 1.5 and 1.50 are equal and not the same. An update that changes
    -- nothing goes through without a stamp: a row dropped here would be missing from the count of
    -- the statement, and the author would take it for lost. Postgres counts such a row only by a
    -- tuple of its own: measured, 600 bytes of WAL a row. Sweeps never come here with one.
    IF NEW *= OLD THEN
      RETURN NEW;
    END IF;
    IF NEW.row_id <> OLD.row_id THEN
      RAISE EXCEPTION 'warehouse.%, row %: row_id never changes', TG_TABLE_NAME, OLD.row_id
        USING ERRCODE = 'integrity_constraint_violation', HINT = 'Leave row_id out of the UPDATE.';
    END IF;
    -- external_key is the author's own key and says nothing of the record that the service sent.
    same.external_key := OLD.external_key;
    IF NOT same *= OLD THEN
      -- While a change is on its way, the row still rests on the record that the service sent.
      -- Without a change the row no longer does: the hash is removed, and the next sweep reads the
      -- record again.
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
