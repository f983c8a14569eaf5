-- Decides a conflict. `service` gives up the wish where the service holds another value. `warehouse` sends the wish all the
-- same. For a create of unknown fate, a number adopts the record of that number, and `resend` sends the create once more.
CREATE OR REPLACE FUNCTION sync.resolve_change(wanted bigint, decision text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{conflict}', 'resolve it');
  fought jsonb := (SELECT jsonb_object_agg(field, service_value) FROM sync.conflicts WHERE change_id = wanted AND winner IS NULL);
  wished jsonb := (SELECT jsonb_object_agg(field, warehouse_value) FROM sync.conflicts WHERE change_id = wanted AND winner IS NULL);
  kept jsonb := change.fields - ARRAY(SELECT jsonb_object_keys(fought));
BEGIN
  IF fought IS NOT NULL AND decision IN ('service', 'warehouse') THEN
    UPDATE sync.conflicts SET winner = decision, decided_at = now(), decided_by = sync.decider() WHERE change_id = wanted AND winner IS NULL;
    UPDATE sync.changes SET base = base || fought WHERE change_id = wanted RETURNING * INTO change;
    IF decision = 'service' AND kept = '{}' THEN
      PERFORM sync.close_change(wanted, 'cancelled', format('%s kept what the service holds', sync.decider()));
      RETURN 'cancelled';
    END IF;
    -- Fields that move with a wish are sent with it: an address is never half the author's and half the service's.
    UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), failures = 0,
           fields = CASE decision WHEN 'service' THEN kept ELSE fields || wished END
     WHERE change_id = wanted;
    IF decision = 'service' THEN
      PERFORM sync.rebase_later(change, fought);
      PERFORM sync.restore_row(change);
    END IF;
    RETURN 'pending';
  ELSIF fought IS NULL AND decision = 'service' THEN
    PERFORM sync.close_change(wanted, 'cancelled', format('given up by %s', sync.decider()));
    RETURN 'cancelled';
  ELSIF fought IS NULL AND change.operation = 'create' AND decision ~ '^[1-9]\d{0,17}$' THEN
    UPDATE sync.changes SET number = decision::bigint, state = 'in_doubt', reason = format('%s says that it is number %s', sync.decider(), decision), due_at = now()
     WHERE change_id = wanted;
    RETURN 'in_doubt';
  ELSIF fought IS NULL AND change.operation <> 'update' AND decision = 'resend' THEN
    UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), sends = 0 WHERE change_id = wanted;
    RETURN 'pending';
  END IF;
  RAISE EXCEPTION 'change %: expected %, got %', wanted,
      CASE WHEN fought IS NOT NULL THEN 'service or warehouse'
           WHEN change.operation = 'create' THEN 'service (give it up), the number of the record that it became, or resend'
           WHEN change.operation = 'delete' THEN 'service (give it up), or resend' ELSE 'service (give it up)' END, coalesce(decision, 'nothing')
    USING ERRCODE = 'invalid_parameter_value';
END
$$;
COMMENT ON FUNCTION sync.resolve_change IS 'Decides a conflict: service gives up the wish, warehouse sends it all the same; of a create whose fate nobody knows, resend, or the number of the record that it became. Gives its state.';
