-- The view of changes that are wanted here and not agreed with the service: open changes, and
-- refused creates whose row is still here. After any other refused change the row holds its values
-- from before.
CREATE OR REPLACE FUNCTION sync.build_mart_wanted() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  is_here text := (
    SELECT string_agg(format('change.table_name = %L AND EXISTS (SELECT FROM warehouse.%I AS held '
      'WHERE held.row_id = change.row_id)', relname, relname),
                      ' OR ' ORDER BY relname)
      FROM pg_class WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r');
  about text := 'What is wanted here and not agreed with the service: changes in progress, and new '
    'rows that it refused. Such new rows are in no other view of mart; a changed row is, with '
    '_pending.';
  told record;
BEGIN
  EXECUTE format(
    $view$CREATE OR REPLACE VIEW mart.wanted AS
      SELECT change.change_id, change.account_id, change.table_name, change.row_id, change.number,
             change.external_key, change.operation, change.fields, change.state, change.reason,
             change.requested_at, change.requested_by
        FROM sync.changes AS change
       WHERE change.is_open
          OR change.state = 'rejected' AND change.operation = 'create' AND (%s)
             AND NOT EXISTS (SELECT FROM sync.changes AS later
                              WHERE later.row_id = change.row_id
                                AND later.table_name = change.table_name
                                AND later.operation = 'create'
                                AND later.change_id > change.change_id)$view$, is_here);
  FOR told IN
    SELECT made.attname, col_description(source.attrelid, source.attnum) AS comment
      FROM pg_attribute AS made JOIN pg_attribute AS source
      ON source.attrelid = 'sync.changes'::regclass AND source.attname = made.attname
     WHERE made.attrelid = 'mart.wanted'::regclass AND made.attnum > 0
       AND col_description(made.attrelid, made.attnum)
         IS DISTINCT FROM col_description(source.attrelid, source.attnum)
  LOOP
    EXECUTE format('COMMENT ON COLUMN mart.wanted.%I IS %L', told.attname, told.comment);
  END LOOP;
  IF obj_description('mart.wanted'::regclass, 'pg_class') IS DISTINCT FROM about THEN
    EXECUTE format('COMMENT ON VIEW mart.wanted IS %L', about);
  END IF;
END $$;
COMMENT ON FUNCTION sync.build_mart_wanted
  IS 'Makes the view of what is wanted and not agreed, over every table of the warehouse.';
