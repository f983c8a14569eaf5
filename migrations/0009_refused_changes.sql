CREATE INDEX "changes_rejected_idx" ON "sync"."changes" USING btree ("account_id","settled_at") WHERE state = 'rejected';--> statement-breakpoint
-- What the service refused can be given up, too. The row of an update or a delete shows again what the service holds; that
-- of a create which nobody mended goes, and with it what waits for it.
CREATE OR REPLACE FUNCTION sync.cancel_change(wanted bigint, why text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{held,pending,conflict,rejected}', 'cancel it');
  said text := coalesce(why, format('cancelled by %s', session_user))
               || CASE change.state WHEN 'rejected' THEN '; refused before: ' || change.reason ELSE '' END;
BEGIN
  IF change.state = 'rejected' AND (change.operation <> 'create' OR EXISTS (
       SELECT FROM sync.changes WHERE table_name = change.table_name AND row_id = change.row_id AND operation = 'create'
          AND change_id > wanted AND state <> 'cancelled')) THEN
    UPDATE sync.changes SET state = 'cancelled', reason = said WHERE change_id = wanted;
  ELSE
    PERFORM sync.close_change(wanted, 'cancelled', said);
  END IF;
  RETURN 'cancelled';
END
$$;
