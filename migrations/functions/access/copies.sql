-- A copy must never write to a real business, so the claims of sweeps and changes call this
-- function. It recognises a database that was restored, cloned or upgraded. A copied data directory
-- is recognised by the workers, who know how they reach it.
CREATE OR REPLACE FUNCTION sync.is_copy() RETURNS boolean
  LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM sync.installation
     WHERE system_identifier <> (SELECT system_identifier::text FROM pg_control_system())
        OR database_oid <> (SELECT oid::bigint FROM pg_database WHERE datname = current_database()))
$$;
COMMENT ON FUNCTION sync.is_copy IS
  'Whether this database is another one than that in which workers began: a restored backup, a '
  'clone. A copy sends nothing until it is allowed to.';
