-- Roles belong to the whole cluster: another of its databases may be making them at this moment.
DO $$
DECLARE
  role_name text;
BEGIN
  FOREACH role_name IN ARRAY ARRAY['fieldmirror_reader', 'fieldmirror_author', 'fieldmirror_worker',
    'fieldmirror_assistant'] LOOP
    BEGIN
      IF to_regrole(role_name) IS NULL THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
      END IF;
    EXCEPTION
      WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE WARNING 'role % was not made: let somebody who may run CREATE ROLE % NOLOGIN, then '
          'SELECT sync.grant_roles()', role_name, role_name;
    END;
  END LOOP;
END $$;
