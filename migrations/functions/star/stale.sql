-- Notes which jobs a statement touched, in the transaction of the statement, whoever writes. The
-- key of a note is counted, so two writers never wait for each other. A high-water mark would not
-- do: a transaction that began earlier may commit later. A statement makes one note, so that a
-- first load of a million jobs leaves some thousand of them.
CREATE OR REPLACE FUNCTION sync.note_stale_jobs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO sync.stale_jobs (account_id, job_numbers)
    SELECT account_id, array_agg(DISTINCT job_number) FROM successors WHERE job_number IS NOT NULL
    GROUP BY account_id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO sync.stale_jobs (account_id, job_numbers)
    SELECT account_id, array_agg(DISTINCT job_number) FROM superseded WHERE job_number IS NOT NULL
    GROUP BY account_id;
  ELSE
    INSERT INTO sync.stale_jobs (account_id, job_numbers)
    SELECT account_id, array_agg(DISTINCT job_number)
      FROM (SELECT account_id, job_number FROM successors UNION ALL SELECT account_id, job_number
        FROM superseded) AS touched
     WHERE job_number IS NOT NULL
     GROUP BY account_id;
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION sync.note_stale_jobs
  IS 'Trigger: notes the jobs that a statement touched, or whose parts it touched, for the next '
  'refresh of the star.';

-- The jobs of a customer hold its key. They are noted if a customer is inserted, removed, or gets
-- another number.
CREATE OR REPLACE FUNCTION sync.note_stale_customers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO sync.stale_jobs (account_id, customer_ids)
    SELECT account_id, array_agg(id) FROM successors WHERE id IS NOT NULL GROUP BY account_id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO sync.stale_jobs (account_id, customer_ids)
    SELECT account_id, array_agg(id) FROM superseded WHERE id IS NOT NULL GROUP BY account_id;
  ELSE
    INSERT INTO sync.stale_jobs (account_id, customer_ids)
    SELECT account_id, array_agg(DISTINCT part.id) FROM successors AS after
    JOIN superseded AS before USING (row_id, account_id)
     CROSS JOIN LATERAL (VALUES (after.id), (before.id)) AS part (id)
     WHERE part.id IS NOT NULL AND (after.id, after.customer_number)
       IS DISTINCT FROM (before.id, before.customer_number)
     GROUP BY account_id;
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION sync.note_stale_customers
  IS 'Trigger: notes the customers whose jobs hold another key now.';

-- Data that any job may refer to: a kind of job, an employee, a zone, a setting. These change
-- rarely.
CREATE OR REPLACE FUNCTION sync.note_stale_star() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO sync.stale_jobs DEFAULT VALUES;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION sync.note_stale_star
  IS 'Trigger: notes that every job is to be processed by the next refresh of the star.';

DO $$
DECLARE
  place text;
BEGIN
  FOREACH place IN ARRAY ARRAY['jobs', 'job_charges', 'time_entries', 'job_employees', 'customers']
    LOOP
    EXECUTE format('CREATE OR REPLACE TRIGGER star_insert AFTER INSERT ON warehouse.%I REFERENCING '
      'NEW TABLE AS successors FOR EACH STATEMENT EXECUTE FUNCTION sync.%I()',
                   place, CASE place WHEN 'customers' THEN 'note_stale_customers'
                     ELSE 'note_stale_jobs' END);
    EXECUTE format('CREATE OR REPLACE TRIGGER star_update AFTER UPDATE ON warehouse.%I REFERENCING '
      'OLD TABLE AS superseded NEW TABLE AS successors FOR EACH STATEMENT EXECUTE FUNCTION '
      'sync.%I()',
                   place, CASE place WHEN 'customers' THEN 'note_stale_customers'
                     ELSE 'note_stale_jobs' END);
    EXECUTE format('CREATE OR REPLACE TRIGGER star_delete AFTER DELETE ON warehouse.%I REFERENCING '
      'OLD TABLE AS superseded FOR EACH STATEMENT EXECUTE FUNCTION sync.%I()',
                   place, CASE place WHEN 'customers' THEN 'note_stale_customers'
                     ELSE 'note_stale_jobs' END);
    EXECUTE format('CREATE OR REPLACE TRIGGER star_truncate AFTER TRUNCATE ON warehouse.%I FOR '
      'EACH STATEMENT EXECUTE FUNCTION sync.note_stale_star()', place);
  END LOOP;
  FOREACH place IN ARRAY ARRAY['warehouse.employees', 'warehouse.job_types',
    'warehouse.job_statuses', 'warehouse.tax_entities', 'mart.settings'] LOOP
    EXECUTE format('CREATE OR REPLACE TRIGGER star_known AFTER INSERT OR DELETE OR TRUNCATE ON %s '
      'FOR EACH STATEMENT EXECUTE FUNCTION sync.note_stale_star()', place);
  END LOOP;
END $$;

CREATE OR REPLACE TRIGGER star_setting AFTER UPDATE ON mart.settings FOR EACH STATEMENT
  EXECUTE FUNCTION sync.note_stale_star();
CREATE OR REPLACE TRIGGER star_zone AFTER UPDATE OF time_zone ON sync.accounts
FOR EACH ROW WHEN (NEW.time_zone IS DISTINCT FROM OLD.time_zone)
  EXECUTE FUNCTION sync.note_stale_star();
