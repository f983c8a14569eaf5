-- Reading the feed. The functions run as their owner: an author has no right on history, and reads
-- only the entries of its accounts.

CREATE OR REPLACE FUNCTION sync.feed_accounts() RETURNS bigint[]
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN has_schema_privilege(sync.caller(), 'history', 'USAGE')
    THEN ARRAY(SELECT account_id FROM sync.accounts)
              ELSE sync.accounts_of(sync.caller()) END
$$;
COMMENT ON FUNCTION sync.feed_accounts
  IS 'The accounts whose entries the caller may read: all for a role that reads history, else '
  'those it may write.';

-- The fields of a version: all that are not null, or those that differ from another version.
-- Numbers are text, so that no digit is lost.
CREATE OR REPLACE FUNCTION sync.feed_values(version jsonb, other jsonb) RETURNS jsonb
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(key,
    CASE jsonb_typeof(value) WHEN 'number' THEN to_jsonb(value #>> '{}') ELSE value END), '{}')
    FROM jsonb_each(version)
   WHERE left(key, 1) <> '_' AND key NOT IN ('valid_to', 'row_id', 'account_id')
     AND CASE WHEN other IS NULL THEN jsonb_typeof(value) <> 'null'
       ELSE value::text IS DISTINCT FROM (other->key)::text END
$$;
COMMENT ON FUNCTION sync.feed_values
  IS 'The fields of a version, or those of them that differ from another version.';

-- An earlier form took positions, which an entry has only after its commit.
DROP FUNCTION IF EXISTS sync.feed_versions(bigint[]);

-- The versions before and after some entries, by one statement for all tables. Each is found by the
-- primary key, however many versions a row has.
CREATE OR REPLACE FUNCTION sync.feed_versions(of_entries bigint[])
  RETURNS TABLE (entry_id bigint, was jsonb, became jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  query text;
BEGIN
  SELECT string_agg(format(
      $sql$SELECT entry.entry_id, last.version, next.version FROM sync.feed_entries AS entry
             LEFT JOIN LATERAL (
                  SELECT to_jsonb(held) AS version, held.valid_to FROM history.%2$I AS held
                   WHERE held.row_id = entry.row_id AND held._changed_at < entry.at
                   ORDER BY held._changed_at DESC LIMIT 1) AS last ON last.valid_to = entry.at
             LEFT JOIN LATERAL (
                  SELECT to_jsonb(held) AS version FROM warehouse.%1$I AS held
                   WHERE held.row_id = entry.row_id AND held._changed_at = entry.at
                   UNION ALL
                  SELECT to_jsonb(held) FROM history.%2$I AS held
                   WHERE held.row_id = entry.row_id AND held._changed_at = entry.at)
                AS next ON true
            WHERE entry.entry_id = ANY ($1) AND entry.table_name = %1$L
              AND entry.row_id IS NOT NULL$sql$, name, 'past_' || name), ' UNION ALL ')
    INTO query
    FROM (SELECT DISTINCT table_name AS name FROM sync.feed_entries
      WHERE entry_id = ANY (of_entries)) AS met;
  IF query IS NOT NULL THEN
    RETURN QUERY EXECUTE query USING of_entries;
  END IF;
END
$$;
COMMENT ON FUNCTION sync.feed_versions IS 'The versions before and after some entries.';

-- The writer of an entry, by the name that readers use: a login, or `http: ` and the name of a key.
-- Null if the entry came from the service.
CREATE OR REPLACE FUNCTION sync.writer_of(written_by text, application text) RETURNS text
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN application LIKE 'http: %' THEN application ELSE written_by END
$$;
COMMENT ON FUNCTION sync.writer_of
  IS 'Who wrote an entry of the feed: a login, or http: and the name of a key.';

-- The outside system whose keys a reader receives, for each account. A reader of another system
-- than `default` does not receive external_key among the values.
CREATE OR REPLACE FUNCTION sync.feed_systems(of_accounts bigint[], named text)
  RETURNS TABLE (account_id bigint, name text, leaves_out text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT own.account_id, own.name,
    CASE WHEN own.name = 'default' THEN '{}' ELSE '{external_key}' END::text[]
    FROM (SELECT id, coalesce(named, sync.system_of(id, sync.caller()))
      FROM unnest(of_accounts) AS id) AS own (account_id, name)
$$;
COMMENT ON FUNCTION sync.feed_systems
  IS 'The outside system whose keys a reader of the feed is given, of each account.';

-- Earlier forms had one reader, did not report what was overwritten or merged, and knew no columns.
DROP FUNCTION IF EXISTS sync.feed(text, integer, text[], bigint, text);
DROP FUNCTION IF EXISTS sync.feed(text, integer, text[], bigint, text, text);
DROP FUNCTION IF EXISTS sync.feed(text, integer, text[], bigint, text[], text);
DROP FUNCTION IF EXISTS sync.feed(text, integer, text[], bigint, text[], text, text[]);
DROP FUNCTION IF EXISTS sync.feed(text, integer, text[], bigint, text[], text, text[], boolean);
DROP FUNCTION IF EXISTS sync.feed_after(bigint, integer, text[], bigint[], text[]);

-- Whether one of the readers has set a field of an entry since, by a change that has not come to
-- nothing. If that change comes to nothing later, a new entry holds the value of the field.
CREATE OR REPLACE FUNCTION sync.is_overwritten(told sync.feed_entries, readers text[],
  names text[]) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM sync.feed_entries AS later
      JOIN sync.changes AS change ON change.change_id = later.change_id
     WHERE later.row_id = told.row_id AND later.table_name = told.table_name
       AND later.entry_id > told.entry_id
       AND sync.writer_of(later.written_by, later.application) = ANY (readers)
       AND change.state NOT IN ('cancelled', 'rejected')
       AND (change.operation = 'delete' OR told.table_name = 'job_employees'
         OR change.fields ?| names))
$$;
COMMENT ON FUNCTION sync.is_overwritten
  IS 'Whether a reader of the feed has itself set a field of an entry since.';

-- The given entries that matter for some columns: rows that changed there, rows that appeared or
-- disappeared, and entries of which a version is no longer kept separately. Both versions are found
-- by the primary key.
CREATE OR REPLACE FUNCTION sync.feed_in_columns(of_entries bigint[], of_columns text[])
  RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  query text;
  found bigint[];
BEGIN
  SELECT string_agg(format(
      $sql$SELECT entry.entry_id, entry.position FROM sync.feed_entries AS entry
             LEFT JOIN LATERAL (
                  SELECT * FROM history.%2$I AS held
                   WHERE held.row_id = entry.row_id AND held._changed_at < entry.at
                   ORDER BY held._changed_at DESC LIMIT 1) AS last ON last.valid_to = entry.at
             LEFT JOIN warehouse.%1$I AS live
               ON live.row_id = entry.row_id AND live._changed_at = entry.at
             LEFT JOIN history.%2$I AS past
               ON past.row_id = entry.row_id AND past._changed_at = entry.at
            WHERE entry.entry_id = ANY ($1) AND entry.table_name = %1$L
              AND entry.operation = 'changed'
              AND (last.row_id IS NULL OR num_nonnulls(live.row_id, past.row_id) = 0 OR %3$s)$sql$,
      name, 'past_' || name, names), ' UNION ALL ')
    INTO query
    FROM (SELECT DISTINCT table_name AS name FROM sync.feed_entries
      WHERE entry_id = ANY (of_entries)) AS met
   CROSS JOIN LATERAL (
     SELECT coalesce(string_agg(format('last.%1$I IS DISTINCT FROM CASE WHEN live.row_id IS NULL '
       'THEN past.%1$I ELSE live.%1$I END', attname), ' OR '), 'false') AS names
       FROM pg_attribute WHERE attrelid = format('warehouse.%I', met.name)::regclass
        AND attname = ANY (of_columns) AND attnum > 0 AND NOT attisdropped) AS asked;
  EXECUTE format('SELECT array_agg(entry_id ORDER BY position) FROM (
      SELECT entry_id, position FROM sync.feed_entries
       WHERE entry_id = ANY ($1) AND operation <> ''changed''%s) AS kept',
    coalesce(' UNION ALL ' || query, ''))
    INTO found USING of_entries;
  RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION sync.feed_in_columns
  IS 'Of some entries those with news in some columns, in the order of the feed.';

-- The next entries after a position. With columns, entries are read until enough of them match, or
-- until the end. But the 20,000th entry is returned whatever it changed, and none after it, so that
-- a reader who is far behind moves on. So fewer than `most` may come before the end.
CREATE OR REPLACE FUNCTION sync.feed_after(start bigint, most integer, of_tables text[],
  accounts bigint[], of_columns text[], authors text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at_once integer := CASE WHEN of_columns IS NULL THEN most ELSE greatest(most, 500) END;
  next_ids bigint[];
  read_count integer := 0;
  found bigint[] := '{}';
BEGIN
  LOOP
    next_ids := ARRAY(
      SELECT entry_id FROM sync.feed_entries
       WHERE position > start AND account_id = ANY (accounts)
         AND (of_tables IS NULL OR table_name = ANY (of_tables))
         AND (operation IN ('created', 'changed', 'removed', 'loaded')
           OR sync.writer_of(written_by, application) = ANY (authors))
       ORDER BY position LIMIT at_once);
    IF of_columns IS NULL THEN
      RETURN next_ids;
    END IF;
    found := found || sync.feed_in_columns(next_ids, of_columns);
    EXIT WHEN cardinality(next_ids) < at_once OR cardinality(found) >= most;
    read_count := read_count + at_once;
    IF read_count >= 20000 THEN
      RETURN found || CASE WHEN found[cardinality(found)] IS DISTINCT FROM next_ids[at_once]
        THEN next_ids[at_once:at_once] END;
    END IF;
    start := (SELECT position FROM sync.feed_entries WHERE entry_id = next_ids[at_once]);
  END LOOP;
  RETURN CASE WHEN most IS NULL THEN found ELSE found[:most] END;
END
$$;
COMMENT ON FUNCTION sync.feed_after IS 'The next entries after a position of the feed, by number.';

-- Entries after a cursor, in the order of their positions.
-- @param after_cursor - null: from the oldest entry kept; @param readers - the logins that read, or
-- keys of the HTTP API as `http: NAME`; null: the login; @param of_system - the outside system
-- whose keys are returned, which only a worker may name; null: the login's own in each account
-- @param of_columns - a row that changed in none of these columns is left out; @param of_changes -
-- whether the outcomes of the readers' changes are returned, too
CREATE OR REPLACE FUNCTION sync.feed(after_cursor text DEFAULT NULL, most integer DEFAULT 500,
  of_tables text[] DEFAULT NULL,
                                     of_account bigint DEFAULT NULL, readers text[] DEFAULT NULL,
                                     of_system text DEFAULT NULL, of_columns text[] DEFAULT NULL,
                                     of_changes boolean DEFAULT false)
RETURNS TABLE (cursor text, entry_id bigint, account text, table_name text, row_id bigint,
  number bigint, external_key text, operation text,
               before jsonb, after jsonb, at timestamptz, written_by text, application text,
                 change_id bigint, own boolean, overwritten boolean, merged_into bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  SET timezone = 'UTC' AS $$
#variable_conflict use_column
DECLARE
  start bigint := sync.feed_position(after_cursor);
  accounts bigint[] := sync.feed_accounts();
  prefix text := (SELECT feed_id FROM sync.feed_state);
  strange text := (SELECT string_agg(given, ', ') FROM unnest(of_tables) AS given
    WHERE given NOT IN (SELECT table_name FROM sync.captured_tables));
  unknown text := (SELECT string_agg(given, ', ') FROM unnest(of_columns) AS given
    WHERE NOT EXISTS (SELECT FROM pg_attribute JOIN sync.captured_tables
        ON attrelid = format('warehouse.%I', table_name)::regclass
       WHERE attname = given AND left(given, 1) <> '_' AND NOT attisdropped AND attnum > 0
         AND (of_tables IS NULL OR table_name = ANY (of_tables))));
  is_worker boolean := has_function_privilege(sync.caller(), 'sync.write_as_worker()', 'EXECUTE');
  own_names text[] := coalesce(readers, ARRAY[session_user::text]);
  found bigint[];
BEGIN
  IF strange IS NOT NULL THEN
    RAISE EXCEPTION 'tables: expected tables of warehouse, got %', strange
      USING ERRCODE = 'invalid_parameter_value',
        HINT = format('There are %s.', (SELECT string_agg(table_name, ', ' ORDER BY table_name)
        FROM sync.captured_tables));
  END IF;
  IF of_system IS NOT NULL AND NOT is_worker THEN
    RAISE EXCEPTION 'of_system: expected nothing, got %: a login reads the keys of its own system',
      quote_literal(left(of_system, 50)) USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF unknown IS NOT NULL THEN
    RAISE EXCEPTION 'columns: expected columns of %, got %',
      coalesce(array_to_string(of_tables, ', '), 'tables of warehouse'), unknown
      USING ERRCODE = 'invalid_parameter_value',
        HINT = 'docs/data-dictionary.md lists them; a table without any of them has no entries of '
        'rows that changed.';
  END IF;
  found := sync.feed_after(start, most, of_tables,
    ARRAY(SELECT id FROM unnest(accounts) AS id WHERE of_account IS NULL OR id = of_account),
    of_columns, CASE WHEN of_changes THEN own_names ELSE '{}' END);
  RETURN QUERY
    SELECT format('%s-%s', prefix, entry.position), entry.entry_id, account.name, entry.table_name,
      told_of.row_id,
           coalesce((known.version->>captured.key_column)::bigint, settled.number),
           CASE system.name WHEN 'default'
             THEN coalesce(known.version->>'external_key', settled.external_key)
             ELSE coalesce(held.key, link.key) END,
             entry.operation,
           told.before, told.after, entry.at, entry.written_by, entry.application, entry.change_id,
           entry.row_id IS NOT NULL AND coalesce(
             sync.writer_of(entry.written_by, entry.application) = ANY (own_names), false),
           sync.is_overwritten(entry, own_names,
             ARRAY(SELECT jsonb_object_keys(coalesce(told.after, told.before, '{}')))),
           tombstone.merged_into
      FROM sync.feed_entries AS entry
      LEFT JOIN sync.accounts AS account ON account.account_id = entry.account_id
      LEFT JOIN sync.feed_systems(accounts, of_system) AS system
        ON system.account_id = entry.account_id
      LEFT JOIN sync.changes AS settled ON settled.change_id = entry.change_id
        AND entry.operation NOT IN ('created', 'changed', 'removed', 'loaded')
     CROSS JOIN LATERAL (SELECT coalesce(entry.row_id, settled.row_id) AS row_id) AS told_of
      LEFT JOIN sync.links AS link ON link.row_id = told_of.row_id
        AND link.table_name = entry.table_name AND link.system = system.name AND link.until IS NULL
      -- A row that was merged, or no longer exists, has no key; its reader knew it by this one.
      LEFT JOIN LATERAL (
           SELECT past.key FROM sync.links AS past
            WHERE entry.operation = 'removed' AND past.row_id = told_of.row_id
              AND past.table_name = entry.table_name AND past.system = system.name
              AND past.since <= entry.at AND past.until > entry.at
            ORDER BY past.until LIMIT 1) AS held ON true
      LEFT JOIN sync.captured_tables AS captured ON captured.table_name = entry.table_name
      LEFT JOIN sync.feed_versions(found) AS version ON version.entry_id = entry.entry_id
     CROSS JOIN LATERAL (SELECT coalesce(version.became, version.was) AS version) AS known
      LEFT JOIN sync.tombstones AS tombstone ON entry.operation = 'removed'
        AND tombstone.sweep_id = (version.became->>'_sweep_id')::bigint
        AND tombstone.number = (version.became->>captured.key_column)::bigint
        AND tombstone.stream = entry.table_name AND tombstone.written_at IS NOT NULL
     CROSS JOIN LATERAL (SELECT
           CASE entry.operation WHEN 'changed' THEN sync.feed_values(version.was, version.became)
                                WHEN 'removed' THEN sync.feed_values(coalesce(version.was,
                                  version.became), NULL)
                                END - system.leaves_out AS before,
           CASE entry.operation WHEN 'changed' THEN sync.feed_values(version.became, version.was)
                                WHEN 'created' THEN sync.feed_values(version.became, NULL)
                                END - system.leaves_out AS after) AS told
     WHERE entry.entry_id = ANY (found)
     ORDER BY entry.position;
END
$$;
COMMENT ON FUNCTION sync.feed IS 'What changed after a cursor, in order: each entry with its row, '
  'the changed fields before and after, who wrote it, whether that was '
  'the reader, whether the reader has overwritten it since, and the record into which a deleted '
  'one was merged.';
