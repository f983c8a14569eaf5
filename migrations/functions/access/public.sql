-- By default, Postgres lets every login of a database use temporary tables and large objects. Any
-- login can fill the disk with these. Fieldmirror does not need these rights of PUBLIC. The owner
-- of the database revokes the first, a superuser the second; `doctor` names those that are left.
CREATE OR REPLACE FUNCTION sync.bar_public() RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place record;
  name text;
BEGIN
  SELECT datname, datdba, coalesce(datacl, acldefault('d', datdba)) AS rights INTO place
  FROM pg_database WHERE datname = current_database();
  IF pg_has_role(place.datdba, 'USAGE') THEN
    -- A worker loads through a temporary table, and has a statement of an assistant read as a
    -- temporary view.
    FOR name IN
      SELECT rolname FROM pg_roles
       WHERE (rolname = 'fieldmirror_worker'
         OR oid = (SELECT nspowner FROM pg_namespace WHERE nspname = 'sync'))
         AND NOT EXISTS (SELECT FROM aclexplode(place.rights) WHERE grantee = pg_roles.oid
           AND privilege_type = 'TEMPORARY')
    LOOP
      EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO %I', place.datname, name);
    END LOOP;
    IF EXISTS (SELECT FROM aclexplode(place.rights)
      WHERE grantee = 0 AND privilege_type = 'TEMPORARY') THEN
      EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', place.datname);
    END IF;
  END IF;
  -- If there are large objects, another program uses them.
  IF NOT EXISTS (SELECT FROM pg_largeobject_metadata) THEN
    FOR name IN
      SELECT oid::regprocedure::text FROM pg_proc
       WHERE pronamespace = 'pg_catalog'::regnamespace
       AND proname IN ('lo_creat', 'lo_create', 'lo_from_bytea') AND pg_has_role(proowner, 'USAGE')
         AND EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner)))
           WHERE grantee = 0)
    LOOP
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', name);
    END LOOP;
  END IF;
END
$$;
COMMENT ON FUNCTION sync.bar_public
  IS 'Takes from every login the rights to fill the disk with temporary tables and large objects, '
  'where the caller may.';
