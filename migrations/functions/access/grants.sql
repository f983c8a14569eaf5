-- Gives the four roles exactly their rights: rights given before are revoked first. The migrator
-- calls the function after every migration. If a role was made later, an operator calls it again.
CREATE OR REPLACE FUNCTION sync.grant_roles() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  role_name text;
  held record;
  schemas text[] := ARRAY['warehouse', 'history', 'mart', 'masked', 'sync'];
  -- An extension's functions are left out: the extension may belong to another program.
  functions oid[] := (
    SELECT array_agg(oid) FROM pg_proc
     WHERE (pronamespace IN ('sync'::regnamespace, 'history'::regnamespace)
            OR pronamespace = 'mart'::regnamespace
            AND (proname = 'job_state' OR proname LIKE '%\_as\_of'))
       -- These belong to the roles that they run as: assistant.sql.
       AND proname NOT LIKE 'read\_as\_%'
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
         AND objid = pg_proc.oid AND deptype = 'e'));
BEGIN
  -- Two calls at once in this database would update the same rows of the catalogue.
  PERFORM FROM sync.source FOR UPDATE;
  PERFORM sync.confine_authors();
  PERFORM sync.bar_public();
  -- The functions run as the owner of the schemas. A trigger needs no right on its function.
  EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC',
    (SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc WHERE oid = ANY (functions)));
  -- Policies and defaults call these functions, for every role.
  GRANT EXECUTE ON FUNCTION sync.accounts_of(name), sync.only_account(),
    sync.systems_of(name) TO PUBLIC;
  -- A view runs its functions as the role that reads the view, so every role that was granted a
  -- view of mart needs these. The functions read nothing but the text they are given.
  GRANT EXECUTE ON FUNCTION sync.read_integer(text), sync.read_decimal(text), sync.read_float(text),
    sync.read_boolean(text), sync.read_instant(text),
    mart.job_state(text, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz,
      timestamptz, timestamptz) TO PUBLIC;
  FOREACH role_name IN ARRAY ARRAY['fieldmirror_reader', 'fieldmirror_author', 'fieldmirror_worker',
    'fieldmirror_assistant'] LOOP
    CONTINUE WHEN to_regrole(role_name) IS NULL;
    -- The catalogue shows on which objects a role holds a right. To revoke at each column of each
    -- table would cost more than all else here.
    FOR held IN
      SELECT replace(place.type, 'view', 'table') AS kind,
        string_agg(DISTINCT place.identity, ', ') AS places
        FROM pg_shdepend, pg_identify_object(classid, objid, 0) AS place
       WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND refclassid = 'pg_authid'::regclass AND refobjid = to_regrole(role_name)
         AND deptype = 'a'
         AND (place.type IN ('table', 'view', 'sequence') AND place.schema = ANY (schemas)
              OR place.type = 'schema' AND place.identity = ANY (schemas)
              OR classid = 'pg_proc'::regclass AND objid = ANY (functions))
       GROUP BY 1
    LOOP
      EXECUTE format('REVOKE ALL ON %s %s FROM %I', held.kind, held.places, role_name);
    END LOOP;
    EXECUTE format('SELECT sync.%I()', replace(role_name, 'fieldmirror_', 'grant_'));
  END LOOP;
  PERFORM sync.grant_moments();
END
$$;
COMMENT ON FUNCTION sync.grant_roles
  IS 'Gives fieldmirror_reader, fieldmirror_author, fieldmirror_worker and fieldmirror_assistant '
  'what they may do; to be called again when one was made later.';

CREATE OR REPLACE FUNCTION sync.grant_reader() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  GRANT USAGE ON SCHEMA warehouse, history, mart, sync TO fieldmirror_reader;
  GRANT EXECUTE ON FUNCTION sync.feed(text, integer, text[], bigint, text[], text, text[],
    boolean),
    sync.feed_end() TO fieldmirror_reader;
  GRANT SELECT ON ALL TABLES IN SCHEMA warehouse, history, mart TO fieldmirror_reader;
END
$$;
COMMENT ON FUNCTION sync.grant_reader
  IS 'What fieldmirror_reader may do: read the warehouse, its history and mart, of every account.';

-- An author may name every column in a statement, as an ORM does. The triggers of
-- migrations/functions/capture refuse a value that the author may not give, by the name of its
-- column. Only row_id is withheld from INSERT, because no trigger could distinguish a given number
-- from a counted one. The tables come from sync.captured_tables, so a new table needs no change
-- here.
CREATE OR REPLACE FUNCTION sync.grant_author() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
  captured record;
BEGIN
  GRANT USAGE ON SCHEMA warehouse, sync TO fieldmirror_author;
  GRANT SELECT ON ALL TABLES IN SCHEMA warehouse TO fieldmirror_author;
  FOR captured IN
    SELECT attrelid::regclass AS place, string_agg(format('%I', attname), ', ' ORDER BY attnum)
      AS given
      FROM sync.captured_tables AS held
      JOIN pg_attribute ON attrelid = format('warehouse.%I', held.table_name)::regclass
      AND attnum > 0 AND NOT attisdropped
     WHERE attname <> 'row_id'
     GROUP BY attrelid
  LOOP
    EXECUTE format('GRANT INSERT (%s), UPDATE, DELETE ON %s TO fieldmirror_author', captured.given,
      captured.place);
  END LOOP;
  GRANT SELECT ON sync.changes, sync.attempts, sync.alterations, sync.conflicts,
    sync.captured_tables, sync.write_rules, sync.change_transitions,
    sync.links TO fieldmirror_author;
  FOR name IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'sync'::regnamespace
     AND proname IN ('last_change', 'wait', 'hold_change', 'release_change', 'retry_change',
       'cancel_change', 'resolve_change', 'resolve_fields', 'accept_change', 'decide_changes',
                     'decide_free', 'decider', 'caller', 'undo_changes',
                       'undo_create', 'undo_update', 'why_not_undone', 'is_as_left', 'is_equal',
                       'was_theirs', 'changed_since_made',
                     'feed', 'feed_end', 'feed_ack', 'feed_place',
                     'set_link', 'find_link', 'remove_link')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO fieldmirror_author', name);
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.grant_author
  IS 'What fieldmirror_author may do: write what the service takes, and decide about changes, of '
  'the accounts that it is bound to.';

-- The rights that sweeps, pushes, the HTTP API and the console need. Only triggers write history,
-- as the owner; no role may change or delete it.
CREATE OR REPLACE FUNCTION sync.grant_worker() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
BEGIN
  -- In masked only the names are readable: statements of an assistant are parsed before they run.
  GRANT USAGE ON SCHEMA warehouse, history, mart, masked, sync TO fieldmirror_worker;
  GRANT SELECT ON ALL TABLES IN SCHEMA warehouse, history, mart TO fieldmirror_worker;
  GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA warehouse TO fieldmirror_worker;
  GRANT SELECT, INSERT, UPDATE ON sync.accounts, sync.sweeps, sync.schedules, sync.quarantine,
    sync.fields, sync.attempts,
    sync.alterations, sync.api_keys TO fieldmirror_worker;
  GRANT SELECT, INSERT, UPDATE, DELETE ON sync.known_pages, sync.known_records, sync.sightings,
    sync.tombstones, sync.absent_numbers, sync.conflicts,
    sync.api_requests, sync.workers, sync.heartbeats, sync.sessions,
      sync.sign_in_codes, sync.alert_rules,
    sync.alerts, sync.alert_deliveries, sync.feed_hooks,
      sync.feed_dead_letters TO fieldmirror_worker;
  GRANT SELECT, UPDATE ON sync.delivery_targets TO fieldmirror_worker;
  GRANT SELECT, INSERT, DELETE ON sync.snapshots TO fieldmirror_worker;
  GRANT SELECT ON sync.report_lists TO fieldmirror_worker;
  GRANT SELECT, INSERT, UPDATE ON sync.report_mails TO fieldmirror_worker;
  GRANT SELECT, INSERT, UPDATE ON sync.alert_checks, sync.installation,
    sync.prunings TO fieldmirror_worker;
  -- Entries of the audit are added, never changed.
  GRANT SELECT, INSERT ON sync.audit, sync.field_events, sync.weekly_reports,
    mart.reported TO fieldmirror_worker;
  -- Settings of the business, which the console has forms for.
  GRANT INSERT, UPDATE, DELETE ON mart.closed_days TO fieldmirror_worker;
  GRANT INSERT, UPDATE ON mart.settings TO fieldmirror_worker;
  GRANT SELECT, UPDATE ON sync.changes TO fieldmirror_worker;
  GRANT SELECT ON sync.captured_tables, sync.write_rules,
    sync.change_transitions, sync.migrations, sync.source,
    sync.deletion_limits, sync.edit_limits, sync.retention, sync.sweep_days, sync.feed_entries,
      sync.feed_state, sync.feed_starts, sync.forgotten, sync.links TO fieldmirror_worker;
  -- A schedule may be removed.
  GRANT DELETE ON sync.schedules TO fieldmirror_worker;
  -- To lock the notes of the star for a refresh, a worker needs the right to delete them.
  GRANT SELECT, DELETE ON sync.stale_jobs TO fieldmirror_worker;
  -- A worker checks that each sequence is ahead of its table.
  GRANT SELECT ON ALL SEQUENCES IN SCHEMA warehouse, sync TO fieldmirror_worker;
  FOR name IN
    SELECT oid::regprocedure FROM pg_proc
     WHERE pronamespace = 'sync'::regnamespace
       AND proname IN ('write_as_worker', 'wanted', 'last_change', 'wait', 'hold_change',
         'release_change', 'retry_change', 'cancel_change',
                       'resolve_change', 'resolve_fields', 'accept_change', 'decide_changes',
                         'decide_free', 'close_change',
                       'refresh_star', 'fill_star', 'gather_statistics', 'decider', 'caller',
                         'is_copy', 'bind_assistant', 'prune', 'count_prunable', 'join_versions',
                       'undo_changes', 'undo_create', 'undo_update', 'why_not_undone', 'is_as_left',
                         'is_equal', 'was_theirs', 'changed_since_made',
                       'feed', 'feed_end', 'feed_ack', 'feed_place', 'seen_position',
                       'sequence_feed', 'renew_feed',
                         'is_forgotten',
                       'set_link', 'find_link', 'remove_link', 'move_links')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO fieldmirror_worker', name);
  END LOOP;
  PERFORM sync.grant_queue();
END
$$;
COMMENT ON FUNCTION sync.grant_worker
  IS 'What fieldmirror_worker may do: all that sweeps, pushes, the HTTP API and the console need.';

-- The functions of a moment, for both roles in one statement: each GRANT writes the row of the
-- function again, with its long parsed body.
CREATE OR REPLACE FUNCTION sync.grant_moments() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  roles text := (SELECT string_agg(quote_ident(rolname), ', ') FROM pg_roles
                  WHERE rolname IN ('fieldmirror_reader', 'fieldmirror_worker'));
BEGIN
  IF roles IS NOT NULL THEN
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', (
      SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc
       WHERE pronamespace IN ('history'::regnamespace, 'mart'::regnamespace)
         AND proname LIKE '%\_as\_of'), roles);
  END IF;
END
$$;
COMMENT ON FUNCTION sync.grant_moments
  IS 'The functions that show tables as of a moment: reader and worker may call them.';

-- The queue's separate schema, if the queue is in this database.
CREATE OR REPLACE FUNCTION sync.grant_queue() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF to_regnamespace('bullmq') IS NOT NULL AND to_regrole('fieldmirror_worker') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA bullmq TO fieldmirror_worker;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bullmq TO fieldmirror_worker;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA bullmq TO fieldmirror_worker;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA bullmq TO fieldmirror_worker;
  END IF;
END
$$;
COMMENT ON FUNCTION sync.grant_queue
  IS 'What fieldmirror_worker may do with the tables of the queue, where they are in this '
  'database.';
