-- Positions. A cursor on the entries' own numbers would skip an entry whose transaction commits
-- after a later number was read. So an entry gets its position after its commit: one call at a time
-- numbers the entries that it sees, in the order of their numbers. A readable position is therefore
-- never followed by a smaller one. A long transaction delays only its own entries. An entry that
-- was written after another was read comes after it.

-- Gives positions to all entries that are committed. The lock is held until the caller's
-- transaction ends: call it alone.
-- @returns how many entries got a position
CREATE OR REPLACE FUNCTION sync.sequence_feed(at_once integer DEFAULT 5000) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  last bigint;
  given bigint;
  counted bigint := 0;
BEGIN
  IF NOT EXISTS (SELECT FROM sync.feed_entries WHERE position IS NULL) THEN
    RETURN 0;
  END IF;
  -- Each statement after this one sees what the previous call has committed.
  PERFORM FROM sync.feed_state FOR UPDATE;
  LOOP
    SELECT last_position INTO STRICT last FROM sync.feed_state;
    WITH seen AS (
      SELECT entry_id, last + row_number() OVER (ORDER BY entry_id) AS place
        FROM (SELECT entry_id FROM sync.feed_entries WHERE position IS NULL
          ORDER BY entry_id LIMIT at_once) AS waiting
    ) UPDATE sync.feed_entries AS entry SET position = seen.place FROM seen
      WHERE entry.entry_id = seen.entry_id;
    GET DIAGNOSTICS given = ROW_COUNT;
    EXIT WHEN given = 0;
    UPDATE sync.feed_state SET last_position = last + given;
    counted := counted + given;
    EXIT WHEN given < at_once;
  END LOOP;
  RETURN counted;
END
$$;
COMMENT ON FUNCTION sync.sequence_feed
  IS 'Gives the entries of the feed that are committed their positions; gives how many.';

-- The cursor behind the last entry that has a position.
CREATE OR REPLACE FUNCTION sync.feed_end() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  SELECT format('%s-%s', feed_id, last_position) FROM sync.feed_state
$$;
COMMENT ON FUNCTION sync.feed_end IS
  'The cursor at the end of the feed, as it is now: from there on sync.feed returns what comes.';

-- Gives the feed another name. A database that was restored from a copy gives positions again that
-- were given to other entries before. So an older cursor is refused, and its reader must begin
-- again instead of missing entries.
CREATE OR REPLACE FUNCTION sync.renew_feed() RETURNS void LANGUAGE sql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
  UPDATE sync.feed_state SET feed_id = DEFAULT
$$;
COMMENT ON FUNCTION sync.renew_feed
  IS 'Gives the feed another name, so that each cursor of before is refused.';

-- An earlier form had no parameter `place`.
DROP FUNCTION IF EXISTS sync.feed_position(text);

-- The position of a cursor. SQLSTATE FM410: the entries after the cursor are not available, and its
-- reader has to begin again.
-- @param place - where the cursor was given, for the refusal
CREATE OR REPLACE FUNCTION sync.feed_position(cursor text, place text DEFAULT 'cursor')
  RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  state sync.feed_state;
  parts text[] := regexp_match(cursor, '^([0-9a-f]{12})-(\d{1,18})$');
  again text := 'Begin again: keep SELECT sync.feed_end(), read the tables, then follow the feed '
    'from that cursor.';
BEGIN
  SELECT * INTO STRICT state FROM sync.feed_state;
  IF cursor IS NULL THEN
    RETURN state.removed_to;
  ELSIF parts IS NULL THEN
    RAISE EXCEPTION '%: expected a cursor that the feed gave, such as %-%, got %', place,
      state.feed_id, state.last_position, quote_literal(left(cursor, 40))
      USING ERRCODE = 'invalid_parameter_value',
        HINT = CASE place WHEN 'cursor' THEN 'SELECT sync.feed_end() gives that of now. The feed '
          'is read from the oldest entry kept if none is given.'
          ELSE format('RESET %s writes without saying what you had seen.', place) END;
  ELSIF parts[1] <> state.feed_id THEN
    RAISE EXCEPTION '% %: expected one of this warehouse, whose cursors begin with %, got one '
      'of another', place, cursor, state.feed_id
      USING ERRCODE = 'FM410', HINT = again;
  ELSIF parts[2]::bigint > state.last_position THEN
    RAISE EXCEPTION '% %: expected a position up to %, got a later one: this warehouse was '
      'restored from an earlier copy', place, cursor, state.last_position
      USING ERRCODE = 'FM410', HINT = again;
  ELSIF parts[2]::bigint < state.removed_to THEN
    RAISE EXCEPTION '% %: expected a position from % on, got an earlier one: entries are kept '
      'for % days', place, cursor, state.removed_to, state.keep_days
      USING ERRCODE = 'FM410', HINT = again;
  END IF;
  RETURN parts[2]::bigint;
END
$$;
COMMENT ON FUNCTION sync.feed_position
  IS 'The position of a cursor of the feed; refuses one that is too old or of another warehouse.';
