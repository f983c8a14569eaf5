-- Messages, evidence and the audit may repeat a name. Every text column of the schema sync is
-- searched, so a table that is added later is not left out. Tables of settings name no customer.
-- Key columns, columns that permit only a few values, and those that are listed below hold our own
-- words, positions and hashes: a number of six digits may be a part of one. Changes of other
-- records keep their values, whatever these are: they are sent, compared and undone.

-- A text without some others. @param forms - as the text may spell them: plain, in JSON, in XML
CREATE OR REPLACE FUNCTION sync.without_words(given text, forms text[]) RETURNS text
  LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  form text;
BEGIN
  FOREACH form IN ARRAY forms LOOP
    given := replace(given, form, '[forgotten]');
  END LOOP;
  RETURN given;
END
$$;
COMMENT ON FUNCTION sync.without_words
  IS 'A text in which some others are replaced by [forgotten].';

-- JSON without some texts. Numbers are replaced whole or not at all, and the keys that our programs
-- give, such as firstPass, stay. @param forms - as for sync.without_words
CREATE OR REPLACE FUNCTION sync.json_without_words(given jsonb, forms text[]) RETURNS jsonb
  LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE jsonb_typeof(given)
    WHEN 'string' THEN to_jsonb(sync.without_words(given #>> '{}', forms))
    WHEN 'number' THEN CASE WHEN given #>> '{}' = ANY (forms) THEN to_jsonb('[forgotten]'::text)
      ELSE given END
    WHEN 'array' THEN (
      SELECT coalesce(jsonb_agg(sync.json_without_words(part, forms) ORDER BY place), '[]')
        FROM jsonb_array_elements(given) WITH ORDINALITY AS parts (part, place))
    WHEN 'object' THEN (
      SELECT coalesce(jsonb_object_agg(CASE WHEN key ~ '^[a-z][A-Za-z_]*$' THEN key
        ELSE sync.without_words(key, forms) END, sync.json_without_words(value, forms)), '{}')
        FROM jsonb_each(given))
    ELSE given
  END;
END
$$;
COMMENT ON FUNCTION sync.json_without_words
  IS 'JSON in whose texts some others are replaced by [forgotten].';

-- The longest come first: otherwise, replacing a name inside a longer one would leave the rest of
-- the longer one.
CREATE OR REPLACE FUNCTION sync.spellings_of(words text[]) RETURNS text[]
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(form ORDER BY length(form) DESC, form), '{}') FROM (
    SELECT DISTINCT form FROM unnest(words) AS word, LATERAL (
      SELECT replace(replace(replace(word, '&', '&amp;'), '<', '&lt;'), '>', '&gt;') AS xml)
        AS escaped,
      LATERAL unnest(ARRAY[word, xml, replace(replace(xml, '"', '&quot;'), '''', '&apos;'),
        replace(replace(xml, '"', '&quot;'), '''', '&#39;')]) AS spelt,
      LATERAL unnest(ARRAY[spelt, substr(to_json(spelt)::text, 2,
        length(to_json(spelt)::text) - 2)]) AS form) AS forms
$$;
COMMENT ON FUNCTION sync.spellings_of
  IS 'Texts as others may hold them: plain, escaped for XML and HTML, and for JSON.';

-- The tables whose texts are searched: how a row with one of the words is found and emptied. Their
-- parameters are the forms, the account, and the forms as LIKE patterns.
CREATE OR REPLACE FUNCTION sync.message_tables()
  RETURNS TABLE (place text, emptied text, named text)
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT class.oid::regclass::text,
         string_agg(format(CASE atttypid WHEN 'jsonb'::regtype
           THEN '%1$I = sync.json_without_words(%1$I, $1)'
           ELSE '%1$I = sync.without_words(%1$I::text, $1)::%2$s' END,
           attname, format_type(atttypid, atttypmod)), ', '),
         format('%s AND (%s)',
           CASE WHEN bool_or(EXISTS (SELECT FROM pg_attribute WHERE attrelid = class.oid
             AND attname = 'account_id')) THEN '(account_id = $2 OR account_id IS NULL)'
             ELSE '$2 > 0' END,
           string_agg(format(CASE atttypid WHEN 'jsonb'::regtype
             THEN '%1$I::text LIKE ANY ($3) AND sync.json_without_words(%1$I, $1) <> %1$I'
             ELSE '%1$I::text LIKE ANY ($3)' END, attname), ' OR '))
    FROM pg_class AS class JOIN pg_attribute ON attrelid = class.oid
   WHERE (relnamespace = 'sync'::regnamespace OR class.oid = 'history.edits'::regclass)
     AND relkind = 'r' AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
     AND atttypid IN ('text'::regtype, 'jsonb'::regtype, 'text[]'::regtype)
     AND relname NOT IN ('accounts', 'alert_rules', 'api_keys', 'author_accounts',
       'captured_tables', 'change_transitions', 'fields', 'forgotten', 'installation', 'links',
       'migrations', 'report_lists', 'retention', 'schedules', 'sessions', 'sign_in_codes',
       'source', 'workers', 'write_rules')
     AND relname NOT IN ('alterations', 'attempts', 'conflicts')
     AND (relname <> 'changes' OR attname = 'reason') AND attname <> 'table_name'
     AND (relname NOT IN ('delivery_targets', 'feed_hooks')
       OR attname IN ('last_error', 'created_by'))
     AND attname NOT IN ('stream', 'mode', 'window_name', 'cause', 'action', 'role', 'holder',
       'claimed_by', 'cursor', 'after_cursor', 'to_cursor', 'feed_id', 'manifest_sha256')
     AND NOT EXISTS (SELECT FROM pg_constraint AS held
       WHERE conrelid = class.oid AND attnum = ANY (conkey)
         AND (contype IN ('p', 'f') OR contype = 'c' AND pg_get_constraintdef(held.oid) ~
           format('\m%s (= ANY|<> ALL)', attname)))
   GROUP BY class.oid
$$;
COMMENT ON FUNCTION sync.message_tables
  IS 'The tables of messages, and how a row of each is found by a word and emptied of it.';

-- A LIKE pattern for each form, which finds it inside any other text.
CREATE OR REPLACE FUNCTION sync.patterns_of(forms text[]) RETURNS text[]
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT array_agg('%' || regexp_replace(form, '([\\%_])', '\\\1', 'g') || '%')
    FROM unnest(forms) AS form
$$;
COMMENT ON FUNCTION sync.patterns_of IS 'Patterns that find texts within others.';

-- Removes words from the messages of an account, or only counts them. Rows that are removed or
-- emptied before are not counted: the changes of the customer's rows, and its entries in
-- quarantine.
-- @param rows - those of the customer, by table @returns how many rows of each table had a word
CREATE OR REPLACE FUNCTION sync.forget_words(of_account bigint, words text[], of_customer bigint,
  rows jsonb, counts_only boolean) RETURNS jsonb
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  forms text[] := sync.spellings_of(words);
  one record;
  found bigint;
  counts jsonb := '{}';
BEGIN
  IF forms = '{}' THEN
    RETURN counts;
  END IF;
  FOR one IN SELECT * FROM sync.message_tables() LOOP
    IF counts_only THEN
      EXECUTE format('SELECT count(*) FROM %s WHERE %s %s', one.place, one.named,
        CASE one.place
          WHEN 'sync.changes' THEN 'AND NOT coalesce($5->table_name @> to_jsonb(row_id), false)'
          WHEN 'sync.quarantine'
            THEN 'AND quarantine_id NOT IN (SELECT sync.quarantine_of($2, $4))' END)
        INTO found USING forms, of_account, sync.patterns_of(forms), of_customer, rows;
    ELSE
      EXECUTE format('UPDATE %s SET %s WHERE %s', one.place, one.emptied, one.named)
        USING forms, of_account, sync.patterns_of(forms);
      GET DIAGNOSTICS found = ROW_COUNT;
    END IF;
    counts := counts || jsonb_build_object(one.place, found);
  END LOOP;
  RETURN counts;
END
$$;
COMMENT ON FUNCTION sync.forget_words
  IS 'Takes words out of the messages, the evidence and the audit of an account, or counts them.';
