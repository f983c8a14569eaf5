-- Holds the updates and deletes of one transaction if they exceed the limit of a table. So an
-- UPDATE that lost its WHERE sends nothing before a person agrees. The trigger is deferred, so a
-- program that writes row by row is also judged by its transaction. The trigger judges once, for
-- the first change of the transaction. Every other change finds the first one by the index. The
-- planner would not choose it, because it cannot know how many changes the transaction has made.
-- A session that makes the trigger immediate, or commits each row, is not held. The trigger
-- protects authors from their own mistakes; it does not protect against an author. Changes that
-- take other changes back are not judged, because a person releases them anyway.
CREATE OR REPLACE FUNCTION sync.hold_large() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  judged bigint := (
    SELECT change_id FROM sync.changes
     WHERE transaction_id = NEW.transaction_id AND account_id = NEW.account_id
       AND table_name = NEW.table_name AND operation <> 'create' AND undoes IS NULL
     ORDER BY transaction_id, change_id LIMIT 1);
  edited bigint;
  unsent bigint[];
  most sync.edit_limits;
  share numeric;
  live bigint;
BEGIN
  IF judged <> NEW.change_id THEN
    RETURN NULL;
  END IF;
  SELECT count(DISTINCT row_id), array_agg(change_id) FILTER (WHERE state = 'pending')
    INTO edited, unsent FROM sync.changes
   WHERE transaction_id = NEW.transaction_id AND account_id = NEW.account_id
     AND table_name = NEW.table_name AND operation <> 'create' AND undoes IS NULL AND is_open;
  SELECT * INTO most FROM sync.edit_limits
   WHERE account_id = NEW.account_id AND table_name = NEW.table_name;
  IF edited <= coalesce(most.most_rows, 0) THEN
    RETURN NULL;
  END IF;
  share := CASE WHEN most.most_rows IS NULL THEN coalesce(most.most_percent, 25) END;
  -- A row that this transaction deletes counts. No more rows are read than the decision needs.
  EXECUTE format('SELECT count(*) FROM (SELECT FROM warehouse.%I
                    WHERE account_id = $1 AND (_deleted_at IS NULL OR _pending)
                    LIMIT $2) AS live', NEW.table_name)
     INTO live
    USING NEW.account_id,
          CASE WHEN share > 0 THEN ceil(edited * 100 / share) + 20 END;
  IF edited * 100 <= live * share OR most IS NULL AND live <= 20 THEN
    RETURN NULL;
  END IF;
  UPDATE sync.changes SET state = 'held', is_large = true, lease_until = NULL,
         reason = format('one transaction changes %s of %s %s: more than the %s that go unseen',
           edited, live, table_name, coalesce(most.most_rows::text, share || ' %'))
   WHERE change_id = ANY (unsent);
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION sync.hold_large
  IS 'Trigger: holds the changes of a transaction that writes more of a table than '
  'sync.edit_limits, or a quarter of more than 20 rows.';

-- A constraint trigger cannot be replaced.
DROP TRIGGER IF EXISTS hold_large ON sync.changes;
CREATE CONSTRAINT TRIGGER hold_large AFTER INSERT OR UPDATE OF transaction_id ON sync.changes
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.operation <> 'create' AND NEW.undoes IS NULL AND NEW.transaction_id IS NOT NULL)
  EXECUTE FUNCTION sync.hold_large();
