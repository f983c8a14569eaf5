-- Takes changes back, the latest first. A change that was not sent is given up. A change that is
-- done gets a separate change that writes the values of its base. That one is made by an ordinary
-- UPDATE or DELETE of the row: it needs the caller's rights, and is held until it is released.
-- Fields that were changed since are left, and reported. @param together - all changes that are
-- taken back, if this call is one part of them: rows that were created together with a record do
-- not keep that record
DROP FUNCTION IF EXISTS sync.undo_changes(bigint[], text, bigint[]);
CREATE OR REPLACE FUNCTION sync.undo_changes(wanted bigint[], batch_name text DEFAULT NULL,
  together bigint[] DEFAULT NULL)
RETURNS TABLE (change_id bigint, outcome text, undo_id bigint, fields text[], refusal text,
  earlier_undo bigint, is_quote boolean)
  LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  change sync.changes;
  hint text;
  settings text[] := '{fieldmirror.seen,fieldmirror.mode,fieldmirror.writer,fieldmirror.batch,'
    'fieldmirror.undoes}';
  before text[] := ARRAY(SELECT coalesce(current_setting(name, true), '')
    FROM unnest(settings) WITH ORDINALITY AS setting (name, at) ORDER BY at);
BEGIN
  -- Undo already leaves fields that were changed since, so the session's cursor does not count.
  PERFORM set_config('fieldmirror.seen', '', true);
  PERFORM set_config('fieldmirror.mode', 'hold', true), set_config('fieldmirror.writer', '', true),
          set_config('fieldmirror.batch', coalesce(batch_name,
            current_setting('fieldmirror.batch', true), ''), true);
  FOR change_id IN SELECT DISTINCT unnest(wanted) ORDER BY 1 DESC LOOP
    SELECT NULL, NULL, NULL, NULL, NULL, false
      INTO outcome, undo_id, fields, refusal, earlier_undo, is_quote;
    BEGIN
      SELECT held.* INTO change FROM sync.changes AS held
      WHERE held.change_id = undo_changes.change_id;
      SELECT why.refusal, why.earlier_undo INTO refusal, earlier_undo
      FROM sync.why_not_undone(change, undo_changes.change_id) AS why;
      IF refusal IS NULL AND change.state <> 'done' THEN
        PERFORM sync.cancel_change(change.change_id, format('taken back by %s', sync.decider()));
        outcome := 'cancelled';
      ELSIF refusal IS NULL THEN
        PERFORM set_config('fieldmirror.undoes', change.change_id::text, true),
          set_config('fieldmirror.last_change', '', false);
        IF change.operation = 'create' THEN
          refusal := sync.undo_create(change, coalesce(together, wanted));
        ELSE
          SELECT done.fields, done.refusal INTO fields, refusal
          FROM sync.undo_update(change) AS done;
        END IF;
        undo_id := sync.last_change();
        outcome := CASE WHEN undo_id IS NOT NULL THEN 'held' END;
      END IF;
    EXCEPTION WHEN no_data_found OR object_not_in_prerequisite_state
      OR integrity_constraint_violation OR check_violation OR foreign_key_violation
                OR insufficient_privilege OR lock_not_available THEN
      GET STACKED DIAGNOSTICS refusal = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
      refusal := concat_ws('; ', refusal, nullif(hint, ''));
      SELECT NULL, NULL, NULL, true INTO outcome, undo_id, fields, is_quote;
    END;
    RETURN NEXT;
  END LOOP;
  -- Later statements of the caller's transaction are not held, and not named after this batch.
  PERFORM set_config(name, value, true) FROM unnest(settings, before) AS setting (name, value);
END
$$;
COMMENT ON FUNCTION sync.undo_changes
  IS 'Takes changes back: those not sent are given up, those done get a held change that writes '
  'what they were made from. Gives for each its outcome (cancelled or held), the change made and '
  'its fields, what was left and why, the change that took it back earlier, and whether the reason '
  'quotes a statement that was refused, which may name values.';

DROP FUNCTION IF EXISTS sync.why_not_undone(sync.changes, bigint);
CREATE OR REPLACE FUNCTION sync.why_not_undone(change sync.changes, asked bigint,
  OUT refusal text, OUT earlier_undo bigint) LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN change.change_id IS NULL THEN format('change %s: no change has that number', asked)
    WHEN undoing.change_id IS NOT NULL
    THEN format('change %s: change %s takes it back already', asked, undoing.change_id)
    WHEN change.state IN ('sending', 'in_doubt') OR change.lease_until > clock_timestamp()
      THEN format('change %s: it is on its way; undo it once it is settled', asked)
    WHEN change.state = 'conflict' AND change.operation = 'create'
    THEN format('change %s: a person first says what became of it', asked)
    WHEN change.state = 'rejected' THEN
      format('change %s: the service refused it, so that nothing is to be taken back', asked)
    WHEN change.state = 'cancelled' THEN
      format('change %s: it was given up, so that nothing is to be taken back', asked)
    WHEN change.state <> 'done' AND change.operation = 'create'
    AND EXISTS (SELECT FROM sync.changes AS waiting WHERE waiting.waits_for = asked
      AND waiting.is_open)
      THEN format('change %s: another change waits for its record', asked)
    WHEN change.state = 'done' AND change.operation = 'delete'
      THEN format('change %s: a record that was deleted does not come back; INSERT it again, '
        'history.%s has what it held', asked, change.table_name) END, undoing.change_id
    FROM (SELECT min(undo.change_id) AS change_id FROM sync.changes AS undo
           WHERE undo.table_name = change.table_name AND undo.row_id = change.row_id
           AND asked = ANY (undo.undoes)
             AND undo.state NOT IN ('cancelled', 'rejected')) AS undoing
$$;
COMMENT ON FUNCTION sync.why_not_undone
  IS 'Why a change cannot be taken back by its state, null where it can; and the change that took '
  'it back earlier.';

-- Takes back an update, field by field. Fields that move together, such as an address, are taken
-- back together or not at all.
CREATE OR REPLACE FUNCTION sync.undo_update(change sync.changes, OUT fields text[],
  OUT refusal text) LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  held jsonb;
  unit record;
  back jsonb := '{}';
  left_over text[] := '{}';
BEGIN
  EXECUTE format('SELECT to_jsonb(held) FROM warehouse.%I AS held WHERE row_id = $1 AND '
    '_deleted_at IS NULL', change.table_name) INTO held USING change.row_id;
  IF held IS NULL THEN
    refusal := format('change %s: its row is deleted', change.change_id);
    RETURN;
  END IF;
  IF change.fields ? 'employee_ids' THEN
    held := held || jsonb_build_object('employee_ids', (
      SELECT coalesce(jsonb_agg(DISTINCT employee_id::text ORDER BY employee_id::text), '[]')
      FROM warehouse.job_employees AS link
       WHERE link.account_id = change.account_id
       AND (link.parent_row_id = change.row_id OR link.job_number = change.number)
       AND link._deleted_at IS NULL));
  END IF;
  FOR unit IN
    SELECT string_agg(name, ', ' ORDER BY name) FILTER (WHERE change.fields ? name) AS names,
      array_agg(name ORDER BY name) FILTER (WHERE change.fields ? name) AS own,
           bool_and(on_update) FILTER (WHERE change.fields ? name) AS is_writable,
           bool_and(sync.is_as_left(change, name, kind, held)) AS is_same,
             bool_or(change.fields ? name AND sync.was_theirs(change, name)) AS is_theirs
      FROM (SELECT name, kind, on_update, coalesce(field_group, name) AS unit
        FROM jsonb_object_keys(change.base || change.fields) AS name
              JOIN sync.write_rules ON table_name = change.table_name AND field = name) AS part
     GROUP BY part.unit HAVING bool_or(change.fields ? name) ORDER BY 1
  LOOP
    IF NOT unit.is_writable THEN
      left_over := left_over || format('%s: what it was before cannot be written', unit.names);
    ELSIF unit.is_theirs THEN
      left_over := left_over || format('%s: the service held it before this change', unit.names);
    ELSIF NOT unit.is_same THEN
      left_over := left_over || format('%s: changed since', unit.names);
    ELSE
      back := back || (SELECT jsonb_object_agg(name, change.base->name)
        FROM unnest(unit.own) AS name);
    END IF;
  END LOOP;
  refusal := format('change %s: ', change.change_id)
    || nullif(array_to_string(left_over, '; '), '');
  fields := ARRAY(SELECT jsonb_object_keys(back) ORDER BY 1);
  IF back - 'employee_ids' <> '{}' THEN
    EXECUTE format('UPDATE warehouse.%I AS held SET %s WHERE row_id = $1', change.table_name,
                   (SELECT string_agg(format('%1$I = (jsonb_populate_record(held, $2)).%1$I', name),
                     ', ') FROM jsonb_object_keys(back - 'employee_ids') AS name))
      USING change.row_id, back;
  END IF;
  IF back ? 'employee_ids' THEN
    DELETE FROM warehouse.job_employees AS link
     WHERE link.account_id = change.account_id
     AND (link.parent_row_id = change.row_id OR link.job_number = change.number)
     AND link._deleted_at IS NULL
       AND NOT back->'employee_ids' ? link.employee_id::text;
    INSERT INTO warehouse.job_employees (account_id, job_number, employee_id)
    SELECT change.account_id, change.number, id::bigint
    FROM jsonb_array_elements_text(back->'employee_ids') AS id WHERE NOT held->'employee_ids' ? id;
  END IF;
END
$$;
COMMENT ON FUNCTION sync.undo_update
  IS 'Writes back what an update was made from, where no one changed it since. Gives the fields '
  'written, and those left and why.';

-- Whether a field of a row is as a change left it: as the service gave it back, else as it was
-- sent. Fields that only move with the change are as they were before.
CREATE OR REPLACE FUNCTION sync.is_as_left(change sync.changes, name text, kind text, held jsonb)
  RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT EXISTS (
    SELECT FROM (VALUES (change.fields->name, change.fields ? name),
      (change.base->name, NOT change.fields ? name),
                        (change.result->'altered'->name->'got', change.result->'altered' ? name),
                        (change.result->'tidied'->name->'got', change.result->'tidied' ? name))
                          AS known (value, counts)
     WHERE counts AND sync.is_equal(kind, value, held->name))
$$;
COMMENT ON FUNCTION sync.is_as_left IS 'Whether a field of a row is still as a change left it.';

-- Whether the service held the wanted value before the change was sent. After a lost answer, the
-- value may come from the change itself.
CREATE OR REPLACE FUNCTION sync.was_theirs(change sync.changes, name text) RETURNS boolean
  LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(change.result->'unsent' ? name, false)
     AND NOT EXISTS (SELECT FROM sync.attempts WHERE attempts.change_id = change.change_id
       AND outcome IS DISTINCT FROM 'done')
$$;
COMMENT ON FUNCTION sync.was_theirs
  IS 'Whether the service held a wanted value already, so that the change did not bring it.';
