-- The service may still have a customer that was forgotten here, and sends it with every sweep. The
-- rows of such a customer stay empty, whichever writer brings them. A BEFORE trigger for each row
-- stops COPY from writing many rows at once. So the triggers are made only when the first customer
-- is forgotten.

-- Whether a row is one of a forgotten customer: by its customer, or by that of its job.
CREATE OR REPLACE FUNCTION sync.is_forgotten(held jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  of_account bigint := (held->>'account_id')::bigint;
  of_customer bigint := (held->>'customer_number')::bigint;
BEGIN
  IF of_customer IS NULL AND held ? 'job_number' THEN
    SELECT customer_number INTO of_customer FROM warehouse.jobs WHERE account_id = of_account
    AND job_number = (held->>'job_number')::bigint;
  END IF;
  RETURN EXISTS (SELECT FROM sync.forgotten WHERE customer_number = of_customer
    AND account_id = of_account);
END
$$;
COMMENT ON FUNCTION sync.is_forgotten
  IS 'Whether a row, given as JSON, is one of a forgotten customer.';

-- The same, for a row that names its customer or job only by row_id, as an author's new row may:
-- its parents are checked in turn.
CREATE OR REPLACE FUNCTION sync.is_of_forgotten(of_table text, held jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  parents text := (SELECT parent_table FROM sync.captured_tables WHERE table_name = of_table);
  parent jsonb;
BEGIN
  IF sync.is_forgotten(held) THEN
    RETURN true;
  ELSIF parents IS NULL OR held->>'parent_row_id' IS NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('SELECT to_jsonb(parent) FROM warehouse.%I AS parent WHERE row_id = $1', parents)
    INTO parent USING (held->>'parent_row_id')::bigint;
  RETURN parent IS NOT NULL AND sync.is_of_forgotten(parents, parent);
END
$$;
COMMENT ON FUNCTION sync.is_of_forgotten
  IS 'Whether a row of a table, given as JSON, is one of a forgotten customer, by its parents, '
  'too.';

-- The empty values of personal columns, in the form that jsonb_populate_record expects.
CREATE OR REPLACE FUNCTION sync.emptied(columns text[]) RETURNS jsonb
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_object_agg(name, CASE name WHEN 'extra' THEN '{}'::jsonb END)
  FROM unnest(columns) AS name
$$;
COMMENT ON FUNCTION sync.emptied IS 'Personal columns without their values.';

-- Argument: the personal columns.
CREATE OR REPLACE FUNCTION sync.keep_out() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF sync.is_of_forgotten(TG_TABLE_NAME, to_jsonb(NEW)) THEN
    NEW := jsonb_populate_record(NEW, sync.emptied(TG_ARGV[0]::text[]));
  END IF;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.keep_out IS
  'Trigger: empties the personal columns of a row of a forgotten customer.';

CREATE OR REPLACE FUNCTION sync.refuse_forgotten() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF sync.is_of_forgotten(TG_TABLE_NAME, to_jsonb(NEW)) THEN
    RAISE EXCEPTION 'warehouse.%: the customer of this row was forgotten, so that it takes a '
      'DELETE and nothing else', TG_TABLE_NAME
      USING ERRCODE = 'integrity_constraint_violation',
        HINT = 'Make the change in the service itself, or leave the row out.';
  END IF;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.refuse_forgotten
  IS 'Trigger: refuses to an author the rows of a forgotten customer: the answer of the service '
  'would bring their data here.';

-- The XML of a record that cannot be read holds its customer. A record that was never read
-- successfully is not known to belong to the customer.
CREATE OR REPLACE FUNCTION sync.keep_out_xml() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.stream IN ('customers', 'jobs')
    AND sync.is_forgotten(jsonb_build_object('account_id', NEW.account_id, rtrim(NEW.stream, 's')
    || '_number', NEW.number)) THEN
    NEW.xml := '';
    NEW.reason := 'the record cannot be read, and its customer was forgotten: its XML is not kept';
  END IF;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION sync.keep_out_xml
  IS 'Trigger: keeps the XML of a record of a forgotten customer out of the quarantine.';

-- Makes the triggers of all tables, if a customer was forgotten.
CREATE OR REPLACE FUNCTION sync.guard_forgotten() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  one record;
  is_author text := '(coalesce(current_setting(''fieldmirror.writer'', true), '''') = '''' OR NOT '
    'has_function_privilege(''sync.write_as_worker()''::regprocedure, ''EXECUTE''))';
BEGIN
  IF NOT EXISTS (SELECT FROM sync.forgotten) THEN
    RETURN;
  END IF;
  FOR one IN SELECT format('warehouse.%I', table_name) AS place, personal_columns
    FROM sync.captured_tables
              WHERE table_name <> 'job_employees'
              AND (sync.has_column(table_name, 'customer_number')
                OR sync.has_column(table_name, 'job_number'))
              ORDER BY table_name LOOP
    EXECUTE format('CREATE OR REPLACE TRIGGER keep_out BEFORE INSERT OR UPDATE ON %s FOR EACH ROW '
      'WHEN (NOT %s) EXECUTE FUNCTION sync.keep_out(%L)', one.place, is_author,
      one.personal_columns);
    EXECUTE format('CREATE OR REPLACE TRIGGER a_refuse_forgotten BEFORE INSERT OR UPDATE ON %s FOR '
      'EACH ROW WHEN (%s) EXECUTE FUNCTION sync.refuse_forgotten()', one.place, is_author);
  END LOOP;
  CREATE OR REPLACE TRIGGER keep_out BEFORE INSERT OR UPDATE ON sync.quarantine FOR EACH ROW
    EXECUTE FUNCTION sync.keep_out_xml();
END
$$;
COMMENT ON FUNCTION sync.guard_forgotten
  IS 'Makes the triggers that keep the data of forgotten customers out, if there are such '
  'customers.';
