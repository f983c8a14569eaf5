CREATE OR REPLACE FUNCTION sync.check_promotion() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  field_name text := format('%s.%s of account %s', NEW.table_name, NEW.field, NEW.account_id);
  taken text;
BEGIN
  IF to_regclass(format('warehouse.%I', NEW.table_name)) IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'undefined_table',
      MESSAGE = format('promoted_as: there is no table warehouse.%s', NEW.table_name);
  ELSIF 'secret' = ANY (NEW.types) THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('promoted_as: %s is a secret, and secrets are not kept: there is nothing to '
        'promote', field_name);
  ELSIF NEW.column_name IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('promoted_as: %s has a column already: mart.%s.%s', field_name,
        NEW.table_name, NEW.column_name);
  ELSIF NEW.promoted_as !~ '^[a-z][a-z0-9_]{0,62}$' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_name',
      MESSAGE = format('promoted_as: expected a name of at most 63 small letters, digits and '
        'underscores, a letter first, got %L', NEW.promoted_as);
  ELSIF EXISTS (SELECT FROM pg_attribute
    WHERE attrelid = format('warehouse.%I', NEW.table_name)::regclass
                   AND attname = NEW.promoted_as AND attnum > 0 AND NOT attisdropped) THEN
    RAISE EXCEPTION USING ERRCODE = 'duplicate_column',
      MESSAGE = format('promoted_as: %L is a column of %s already; choose another name',
        NEW.promoted_as, NEW.table_name);
  END IF;
  SELECT field INTO taken FROM sync.fields
   WHERE account_id = NEW.account_id AND table_name = NEW.table_name
   AND promoted_as = NEW.promoted_as AND field <> NEW.field;
  IF taken IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'duplicate_column',
      MESSAGE = format('promoted_as: %L is taken by %s of the same account; choose another name',
        NEW.promoted_as, taken);
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION sync.check_promotion
  IS 'Refuses a name that promoted_as cannot be, and says why.';

CREATE OR REPLACE FUNCTION sync.apply_promotion() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM sync.build_mart_view(OLD.table_name);
  ELSE
    PERFORM sync.build_mart_view(NEW.table_name, NEW.promoted_as);
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION sync.apply_promotion IS 'Brings the view in mart in line with promoted_as.';

CREATE OR REPLACE TRIGGER fields_check_promotion BEFORE INSERT OR UPDATE OF promoted_as
  ON sync.fields
FOR EACH ROW WHEN (NEW.promoted_as IS NOT NULL) EXECUTE FUNCTION sync.check_promotion();

CREATE OR REPLACE TRIGGER fields_promoted_on_insert AFTER INSERT ON sync.fields
FOR EACH ROW WHEN (NEW.promoted_as IS NOT NULL) EXECUTE FUNCTION sync.apply_promotion();

CREATE OR REPLACE TRIGGER fields_promoted_on_update AFTER UPDATE OF promoted_as ON sync.fields
FOR EACH ROW WHEN (OLD.promoted_as IS NOT NULL OR NEW.promoted_as IS NOT NULL)
  EXECUTE FUNCTION sync.apply_promotion();

CREATE OR REPLACE TRIGGER fields_promoted_on_delete AFTER DELETE ON sync.fields
FOR EACH ROW WHEN (OLD.promoted_as IS NOT NULL) EXECUTE FUNCTION sync.apply_promotion();
