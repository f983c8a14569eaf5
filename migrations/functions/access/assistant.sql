-- Statements of an assistant, read as a role that may read and nothing else: one function for each such role. It is owned by
-- the role and runs as it. Inside, Postgres lets a statement change neither its role nor its session, whatever it asks for;
-- and because the function is STABLE, it refuses every statement that writes.
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT * FROM (VALUES ('assistant', 'masked, mart'), ('reader', 'mart')) AS roles (name, places) LOOP
    EXECUTE format($function$
      CREATE OR REPLACE FUNCTION sync.read_as_%1$s(statement text, row_limit integer, byte_limit integer) RETURNS SETOF json
      LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = %2$s, pg_catalog, pg_temp AS $body$
      DECLARE
        found record;
        told json;
        bytes bigint := 0;
        counted integer := 0;
      BEGIN
        IF current_user <> 'fieldmirror_%1$s' THEN
          RAISE EXCEPTION 'sync.read_as_%1$s: expected it to belong to fieldmirror_%1$s, and it belongs to %%', current_user
            USING ERRCODE = 'insufficient_privilege', HINT = 'Let a superuser run SELECT sync.grant_roles().';
        END IF;
        FOR found IN EXECUTE statement LOOP
          told := to_json(found);
          bytes := bytes + octet_length(told::text);
          counted := counted + 1;
          IF counted > row_limit OR bytes > byte_limit THEN
            RETURN NEXT NULL;
            RETURN;
          END IF;
          RETURN NEXT told;
        END LOOP;
      END
      $body$
    $function$, one.name, one.places);
    EXECUTE format('REVOKE ALL ON FUNCTION sync.read_as_%s FROM PUBLIC', one.name);
    EXECUTE format('COMMENT ON FUNCTION sync.read_as_%1$s IS %2$L', one.name,
                   format('The rows of a statement, read as fieldmirror_%s; a null at the end where there are more than the limits.', one.name));
  END LOOP;
END $$;

-- The functions above are given to the roles that they run as. That takes a superuser, or a member of the role.
CREATE OR REPLACE FUNCTION sync.grant_assistant() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  GRANT USAGE ON SCHEMA masked, mart TO fieldmirror_assistant;
  GRANT SELECT ON ALL TABLES IN SCHEMA masked TO fieldmirror_assistant;
  -- These name nobody.
  GRANT SELECT ON mart.dim_date, mart.dim_job_state, mart.freshness TO fieldmirror_assistant;
  PERFORM sync.hand_over('assistant');
  IF to_regrole('fieldmirror_reader') IS NOT NULL THEN
    PERFORM sync.hand_over('reader');
  END IF;
END
$$;
COMMENT ON FUNCTION sync.grant_assistant IS 'What fieldmirror_assistant may do: read the star without the names of people.';

CREATE OR REPLACE FUNCTION sync.hand_over(name text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  role_name text := 'fieldmirror_' || name;
BEGIN
  IF NOT pg_has_role(role_name, 'USAGE') THEN
    EXECUTE format('GRANT %I TO %I', role_name, current_user);
  END IF;
  -- To own a function takes the right to make one in its schema.
  EXECUTE format('GRANT CREATE ON SCHEMA sync TO %I', role_name);
  EXECUTE format('ALTER FUNCTION sync.%I OWNER TO %I', 'read_as_' || name, role_name);
  EXECUTE format('REVOKE CREATE ON SCHEMA sync FROM %I', role_name);
  IF to_regrole('fieldmirror_worker') IS NOT NULL THEN
    EXECUTE format('GRANT EXECUTE ON FUNCTION sync.%I TO fieldmirror_worker', 'read_as_' || name);
  END IF;
EXCEPTION
  WHEN insufficient_privilege THEN
    RAISE WARNING 'sync.read_as_% is not of role % yet, so fieldmirror mcp refuses statements: let a superuser run SELECT sync.grant_roles()', name, role_name;
END
$$;
COMMENT ON FUNCTION sync.hand_over IS 'Gives a function that reads as a role to that role.';
