-- Decides a conflict field by field. For each disputed field, `service` gives up the wanted value,
-- and `warehouse` sends it anyway. Fields that move together with a wanted field are sent with it
-- and decided alike: an address is never half the author's and half the service's.
CREATE OR REPLACE FUNCTION sync.resolve_fields(wanted bigint, decisions jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{conflict}', 'resolve it');
  fought text[] := ARRAY(SELECT field FROM sync.conflicts
    WHERE change_id = wanted AND winner IS NULL ORDER BY field);
  parted text;
  theirs jsonb;
  lost jsonb;
  kept jsonb;
BEGIN
  IF fought = '{}' OR decisions IS NULL OR NOT decisions ?& fought OR decisions - fought <> '{}'
     OR EXISTS (SELECT FROM jsonb_each_text(decisions)
       WHERE value IS NULL OR value NOT IN ('service', 'warehouse')) THEN
    RAISE EXCEPTION 'change %: expected service or warehouse for %, got %', wanted,
        CASE fought WHEN '{}' THEN 'a field that both sides changed, and it has none'
          ELSE 'each of ' || array_to_string(fought, ', ') END,
        coalesce(decisions::text, 'nothing')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT string_agg(field, ', ' ORDER BY field) INTO parted FROM sync.write_rules
   WHERE table_name = change.table_name AND field = ANY (fought) AND field_group IS NOT NULL
   GROUP BY field_group HAVING count(DISTINCT decisions->field) > 1 LIMIT 1;
  IF parted IS NOT NULL THEN
    RAISE EXCEPTION 'change %: expected one decision for %, which move as one, got two', wanted,
      parted
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT jsonb_object_agg(field, service_value),
    coalesce(jsonb_object_agg(field, service_value) FILTER (WHERE decisions->>field = 'service'),
    '{}'),
         coalesce(jsonb_object_agg(field, warehouse_value) FILTER
           (WHERE decisions->>field = 'warehouse'), '{}')
    INTO theirs, lost, kept FROM sync.conflicts WHERE change_id = wanted AND winner IS NULL;
  kept := (change.fields - ARRAY(SELECT jsonb_object_keys(lost))) || kept;
  UPDATE sync.conflicts SET winner = decisions->>field, decided_at = now(),
    decided_by = sync.decider() WHERE change_id = wanted AND winner IS NULL;
  UPDATE sync.changes SET base = base || theirs, seen = nullif(seen - fought, '{}')
    WHERE change_id = wanted RETURNING * INTO change;
  IF kept = '{}' THEN
    PERFORM sync.close_change(wanted, 'cancelled',
      format('%s kept what the service holds', sync.decider()));
    RETURN 'cancelled';
  END IF;
  UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), failures = 0,
    fields = kept WHERE change_id = wanted;
  IF lost <> '{}' THEN
    PERFORM sync.rebase_later(change, lost);
    PERFORM sync.restore_row(change);
  END IF;
  RETURN 'pending';
END
$$;
COMMENT ON FUNCTION sync.resolve_fields
  IS 'Decides a conflict field by field: {"phone_number": "service", "name": "warehouse"}, each '
  'fought field once. Gives its state.';

-- Decides a conflict. `service` gives up the wanted values for which the service holds another
-- value. `warehouse` sends them anyway. For a create of unknown fate, a number adopts the record of
-- that number, and `resend` sends the create once more.
CREATE OR REPLACE FUNCTION sync.resolve_change(wanted bigint, decision text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  change sync.changes := sync.lock_change(wanted, '{conflict}', 'resolve it');
  fought text[] := ARRAY(SELECT field FROM sync.conflicts
    WHERE change_id = wanted AND winner IS NULL);
  is_fought boolean := fought <> '{}';
BEGIN
  IF is_fought AND decision IN ('service', 'warehouse') THEN
    RETURN sync.resolve_fields(wanted,
      (SELECT jsonb_object_agg(field, decision) FROM unnest(fought) AS field));
  ELSIF NOT is_fought AND decision = 'service' THEN
    PERFORM sync.close_change(wanted, 'cancelled', format('given up by %s', sync.decider()));
    RETURN 'cancelled';
  ELSIF NOT is_fought AND change.operation = 'create' AND decision ~ '^[1-9]\d{0,17}$' THEN
    UPDATE sync.changes SET number = decision::bigint, state = 'in_doubt',
      reason = format('%s says that it is number %s', sync.decider(), decision), due_at = now()
     WHERE change_id = wanted;
    RETURN 'in_doubt';
  ELSIF NOT is_fought AND change.operation <> 'update' AND decision = 'resend' THEN
    -- A delete is not compared any more.
    UPDATE sync.changes SET state = 'pending', reason = NULL, due_at = now(), sends = 0,
      seen = NULL, base = '{}' WHERE change_id = wanted;
    RETURN 'pending';
  END IF;
  RAISE EXCEPTION 'change %: expected %, got %', wanted,
      CASE WHEN is_fought THEN 'service or warehouse'
           WHEN change.operation = 'create' THEN
             'service (give it up), the number of the record that it became, or resend'
           WHEN change.operation = 'delete' THEN 'service (give it up), or resend'
           ELSE 'service (give it up)' END, coalesce(decision, 'nothing')
    USING ERRCODE = 'invalid_parameter_value';
END
$$;
COMMENT ON FUNCTION sync.resolve_change
  IS 'Decides a conflict: service gives up the wish, warehouse sends it all the same; of a create '
  'whose result is unknown, resend, or the number of the record that it became. Gives its state.';
