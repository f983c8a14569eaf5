-- The rows of a customer, current and removed: its own row, its contacts, notes and tasks, its
-- jobs, and the rows below these. A job that was moved to another customer belongs to the other
-- one; forgetting empties the versions that it had before. Assignments stay: they name employees.
CREATE OR REPLACE FUNCTION sync.rows_of_customer(of_account bigint, of_customer bigint)
  RETURNS TABLE (table_name text, row_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint[] := ARRAY(SELECT held.row_id FROM warehouse.customers AS held
    WHERE account_id = of_account AND customer_number = of_customer
                         UNION SELECT held.row_id FROM history.past_customers AS held
                         WHERE account_id = of_account AND customer_number = of_customer);
  jobs bigint[];
  numbers bigint[];
  one record;
BEGIN
  jobs := ARRAY(SELECT held.row_id FROM warehouse.jobs AS held WHERE account_id = of_account
    AND (customer_number = of_customer OR parent_row_id IS NOT NULL AND parent_row_id = ANY (own))
                 UNION SELECT held.row_id FROM history.past_jobs AS held
                        WHERE account_id = of_account AND (customer_number = of_customer
                          OR parent_row_id = ANY (own))
                          AND NOT EXISTS (SELECT FROM warehouse.jobs AS live
                            WHERE live.row_id = held.row_id));
  numbers := ARRAY(SELECT job_number FROM warehouse.jobs AS held WHERE held.row_id = ANY (jobs)
    AND job_number IS NOT NULL
                    UNION SELECT job_number FROM history.past_jobs AS held
                    WHERE held.row_id = ANY (jobs) AND job_number IS NOT NULL);
  RETURN QUERY SELECT 'customers', unnest(own) UNION ALL SELECT 'jobs', unnest(jobs);
  FOR one IN
    SELECT captured.table_name AS name,
           concat_ws(' OR ', CASE WHEN sync.has_column(captured.table_name, 'customer_number')
             THEN 'customer_number = $2' END,
                             CASE WHEN sync.has_column(captured.table_name, 'job_number')
                               THEN 'job_number = ANY ($3)' END,
                             CASE parent_table
                               WHEN 'customers'
                                 THEN 'parent_row_id IS NOT NULL AND parent_row_id = ANY ($4)'
                               WHEN 'jobs'
                                 THEN 'parent_row_id IS NOT NULL AND parent_row_id = ANY ($5)' END)
                               AS theirs
      FROM sync.captured_tables AS captured
      WHERE captured.table_name NOT IN ('customers', 'jobs', 'job_employees')
  LOOP
    CONTINUE WHEN one.theirs = '';
    RETURN QUERY EXECUTE format(
      'SELECT %1$L, row_id FROM warehouse.%1$I WHERE account_id = $1 AND (%2$s) UNION SELECT %1$L, '
        'row_id FROM history.%3$I WHERE account_id = $1 AND (%2$s)',
      one.name, one.theirs, 'past_' || one.name) USING of_account, of_customer, numbers, own, jobs;
  END LOOP;
END
$$;
COMMENT ON FUNCTION sync.rows_of_customer
  IS 'The rows of a customer, those that were removed as well.';

CREATE OR REPLACE FUNCTION sync.has_column(of_table text, name text) RETURNS boolean
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT FROM pg_attribute
    WHERE attrelid = format('warehouse.%I', of_table)::regclass AND attname = name
  AND NOT attisdropped)
$$;
COMMENT ON FUNCTION sync.has_column IS 'Whether a warehouse table has a column of a name.';

-- The texts by which a customer and its contacts are found in messages: names, addresses, numbers
-- of telephones. A text of less than six characters is in too many others.
CREATE OR REPLACE FUNCTION sync.names_of_customer(of_account bigint, of_customer bigint)
  RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one record;
  found text[];
  names text[] := '{}';
BEGIN
  FOR one IN
    SELECT place, captured.table_name, array_agg(held.row_id) AS rows
      FROM sync.captured_tables AS captured
      JOIN sync.rows_of_customer(of_account, of_customer) AS held USING (table_name)
     CROSS JOIN LATERAL (VALUES (format('warehouse.%I', table_name)),
       (format('history.past_%s', table_name))) AS places (place)
     WHERE table_name IN ('customers', 'contacts') GROUP BY 1, 2
  LOOP
    EXECUTE format(
      $sql$SELECT array_agg(DISTINCT value) FROM (
             SELECT unnest(ARRAY[concat_ws(' ', first_name, last_name), %s])
               FROM %s WHERE row_id = ANY ($1)) AS held (value)
            WHERE length(trim(value)) >= 6$sql$,
      (SELECT string_agg(format('%I', name), ', ') FROM sync.captured_tables AS captured,
        unnest(personal_columns) AS name
        WHERE captured.table_name = one.table_name
          AND name ~ ('(^(full_|company_|last_)?name'
            '|phone|mobile|pager|fax|email|contact|_address|account_number)')
          AND name NOT LIKE 'qb%'),
      one.place) INTO found USING one.rows;
    names := names || found;
  END LOOP;
  RETURN ARRAY(SELECT DISTINCT name FROM unnest(names) AS name WHERE name IS NOT NULL);
END
$$;
COMMENT ON FUNCTION sync.names_of_customer
  IS 'The texts by which a customer and its contacts are found in messages.';
