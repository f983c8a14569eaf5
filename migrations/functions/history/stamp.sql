-- Stamps an updated row. A version begins when its transaction began, so that a job and its children change at the same
-- instant; but never before the row's last version ended: two writes in one transaction, or a transaction that began
-- earlier and writes later, are told apart by a microsecond. The consequence: what holds at a moment is settled once
-- every transaction begun before it has ended; the moment at which a past sweep ended always is.
-- A sweep stamps its rows itself; this is called for the others, and for a sweep whose stamp would not be later.
-- Argument: whether it is a `sweep` or an `edit`.
CREATE OR REPLACE FUNCTION history.stamp() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  same record := NEW;
BEGIN
  IF TG_ARGV[0] = 'edit' THEN
    -- By image: 1.5 and 1.50 are equal and not the same. What changes nothing goes through as it is, without a stamp: a row
    -- dropped here would be missing from the count of the statement, which its author would take for a lost row. Postgres has
    -- no other way to count it than a tuple of its own: measured, 600 bytes of WAL a row. Sweeps never come here with one.
    IF NEW *= OLD THEN
      RETURN NEW;
    END IF;
    IF NEW.row_id <> OLD.row_id THEN
      RAISE EXCEPTION 'warehouse.%, row %: row_id never changes', TG_TABLE_NAME, OLD.row_id
        USING ERRCODE = 'integrity_constraint_violation', HINT = 'Leave row_id out of the UPDATE.';
    END IF;
    -- A key of one's own says nothing of what the service sent.
    same.external_key := OLD.external_key;
    IF NOT same *= OLD THEN
      -- Where a change is on its way, the row still rests on what the service sent. Else it no longer says that: without a
      -- hash the next sweep reads its record again.
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
COMMENT ON FUNCTION history.stamp IS 'Trigger: says when the new version of an updated row begins, and that no sweep wrote it where none did; an update that changes nothing is no new version.';
