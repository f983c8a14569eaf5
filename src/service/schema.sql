-- The reference service's own database. Every statement can be run again. When a service starts and
-- finds another version of this file, or none, all of them run in one transaction under a lock.
--
-- The truth of a record is `fields`: its values as text under the names of the wire, so that 275.10
-- and 01234 stay what they are; a name that is missing is nil. Columns for look-ups, filters and
-- sorting are generated from it, so the two cannot disagree. Instants in `fields` are UTC,
-- 2031-01-04T14:00:00Z.

CREATE SCHEMA IF NOT EXISTS service;

CREATE SEQUENCE IF NOT EXISTS service.ids START 1000001;
CREATE SEQUENCE IF NOT EXISTS service.customer_numbers;
CREATE SEQUENCE IF NOT EXISTS service.job_numbers;
CREATE SEQUENCE IF NOT EXISTS service.employee_numbers;

-- A cast of text depends on the session only if the text has no zone; the texts here always end in
-- Z.
CREATE OR REPLACE FUNCTION service.instant(text) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT $1::timestamptz';

-- Notifies the services that keep lists of this table in memory of each write, by a service or by a
-- person with psql. "jobs members" means that records came or went, "jobs values" that they only
-- changed.
CREATE OR REPLACE FUNCTION service.announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('service_changed', TG_TABLE_NAME || ' members');
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION service.announce_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM before FULL JOIN after USING (id)
              WHERE before.deleted_at IS DISTINCT FROM after.deleted_at) THEN
    PERFORM pg_notify('service_changed', TG_TABLE_NAME || ' members');
  ELSE
    PERFORM pg_notify('service_changed', TG_TABLE_NAME || ' values');
  END IF;
  RETURN NULL;
END $$;

CREATE TABLE IF NOT EXISTS service.customers (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT customers_pk PRIMARY KEY,
  customer_number bigint NOT NULL
    GENERATED ALWAYS AS ((fields ->> 'customer_number')::bigint) STORED
    CONSTRAINT customers_number UNIQUE,
  parent_id bigint GENERATED ALWAYS AS ((fields ->> 'parent_id')::bigint) STORED,
  updated_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'updated_at')) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);
-- A whole list is read from this index.
CREATE INDEX IF NOT EXISTS customers_list ON service.customers (customer_number, id)
  WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS customers_parent ON service.customers (parent_id)
  WHERE parent_id IS NOT NULL;
-- One index serves the fourteen exact filters, alone and combined: fields @> {"service_city":
-- "Dayton"}.
CREATE INDEX IF NOT EXISTS customers_fields ON service.customers USING gin (fields jsonb_path_ops);

CREATE TABLE IF NOT EXISTS service.jobs (
  fields jsonb NOT NULL,
  employee_ids bigint[] NOT NULL DEFAULT '{}',
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED CONSTRAINT jobs_pk PRIMARY KEY,
  job_number bigint NOT NULL GENERATED ALWAYS AS ((fields ->> 'job_number')::bigint) STORED
    CONSTRAINT jobs_number UNIQUE,
  customer_id bigint NOT NULL GENERATED ALWAYS AS ((fields ->> 'customer_id')::bigint) STORED,
  job_type_id bigint GENERATED ALWAYS AS ((fields ->> 'job_type_id')::bigint) STORED,
  job_status_id bigint GENERATED ALWAYS AS ((fields ->> 'job_status_id')::bigint) STORED,
  status text NOT NULL GENERATED ALWAYS AS (fields ->> 'status') STORED
    CONSTRAINT jobs_status CHECK (fields ->> 'status' IN ('scheduled', 'in_progress', 'complete')),
  scheduled_on timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'scheduled_on')) STORED,
  updated_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'updated_at')) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);
-- A whole list is read from this index.
CREATE INDEX IF NOT EXISTS jobs_list ON service.jobs (job_number, id) WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS jobs_customer ON service.jobs (customer_id);
CREATE INDEX IF NOT EXISTS jobs_type ON service.jobs (job_type_id);
CREATE INDEX IF NOT EXISTS jobs_job_status ON service.jobs (job_status_id);
CREATE INDEX IF NOT EXISTS jobs_state ON service.jobs (status);
CREATE INDEX IF NOT EXISTS jobs_scheduled ON service.jobs (scheduled_on);
CREATE INDEX IF NOT EXISTS jobs_employees ON service.jobs USING gin (employee_ids);

CREATE TABLE IF NOT EXISTS service.job_charges (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT job_charges_pk PRIMARY KEY,
  job_id bigint NOT NULL GENERATED ALWAYS AS ((fields ->> 'job_id')::bigint) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);
CREATE INDEX IF NOT EXISTS job_charges_job ON service.job_charges (job_id);

-- The token is kept as it is because a person must be able to read it, as in the employee
-- management of the real service. Neither it nor the hash of the password is among the fields, so
-- neither can be written out or journalled.
CREATE TABLE IF NOT EXISTS service.employees (
  fields jsonb NOT NULL,
  token text NOT NULL CONSTRAINT employees_token UNIQUE,
  password_hash text,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT employees_pk PRIMARY KEY,
  employee_number bigint NOT NULL
    GENERATED ALWAYS AS ((fields ->> 'employee_number')::bigint) STORED
    CONSTRAINT employees_number UNIQUE,
  username text GENERATED ALWAYS AS (fields ->> 'username') STORED
    CONSTRAINT employees_username UNIQUE,
  active boolean NOT NULL GENERATED ALWAYS AS ((fields ->> 'active')::boolean) STORED,
  updated_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'updated_at')) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);

CREATE TABLE IF NOT EXISTS service.time_entries (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT time_entries_pk PRIMARY KEY,
  job_id bigint NOT NULL GENERATED ALWAYS AS ((fields ->> 'job_id')::bigint) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);
CREATE INDEX IF NOT EXISTS time_entries_job ON service.time_entries (job_id);

CREATE TABLE IF NOT EXISTS service.tasks (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED CONSTRAINT tasks_pk PRIMARY KEY,
  job_id bigint GENERATED ALWAYS AS ((fields ->> 'job_id')::bigint) STORED,
  customer_id bigint GENERATED ALWAYS AS ((fields ->> 'customer_id')::bigint) STORED,
  employee_id bigint GENERATED ALWAYS AS ((fields ->> 'employee_id')::bigint) STORED,
  completed boolean NOT NULL GENERATED ALWAYS AS ((fields ->> 'completed')::boolean) STORED,
  scheduled_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'scheduled_at')) STORED,
  updated_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'updated_at')) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);
CREATE INDEX IF NOT EXISTS tasks_list ON service.tasks (id) WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS tasks_job ON service.tasks (job_id);
CREATE INDEX IF NOT EXISTS tasks_customer ON service.tasks (customer_id);
CREATE INDEX IF NOT EXISTS tasks_employee ON service.tasks (employee_id);
CREATE INDEX IF NOT EXISTS tasks_scheduled ON service.tasks (scheduled_at);

CREATE TABLE IF NOT EXISTS service.notes (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED CONSTRAINT notes_pk PRIMARY KEY,
  customer_id bigint GENERATED ALWAYS AS
    (CASE WHEN fields ->> 'noteable_type' = 'Customer'
          THEN (fields ->> 'noteable_id')::bigint END) STORED,
  job_id bigint GENERATED ALWAYS AS
    (CASE WHEN fields ->> 'noteable_type' = 'Job'
          THEN (fields ->> 'noteable_id')::bigint END) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED,
  CONSTRAINT notes_owner CHECK (num_nonnulls(customer_id, job_id) = 1)
);
CREATE INDEX IF NOT EXISTS notes_customer ON service.notes (customer_id)
  WHERE customer_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS notes_job ON service.notes (job_id) WHERE job_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS service.contacts (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT contacts_pk PRIMARY KEY,
  customer_id bigint NOT NULL GENERATED ALWAYS AS ((fields ->> 'customer_id')::bigint) STORED,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);
CREATE INDEX IF NOT EXISTS contacts_customer ON service.contacts (customer_id);

CREATE TABLE IF NOT EXISTS service.job_types (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT job_types_pk PRIMARY KEY,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);

CREATE TABLE IF NOT EXISTS service.job_statuses (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT job_statuses_pk PRIMARY KEY,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);

CREATE TABLE IF NOT EXISTS service.tax_entities (
  fields jsonb NOT NULL,
  id bigint GENERATED ALWAYS AS ((fields ->> 'id')::bigint) STORED
    CONSTRAINT tax_entities_pk PRIMARY KEY,
  deleted_at timestamptz GENERATED ALWAYS AS (service.instant(fields ->> 'deleted_at')) STORED
);

-- Every effect of a request, written in the transaction of the effect. The journal is for people
-- who judge a client.
CREATE TABLE IF NOT EXISTS service.journal (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT journal_pk PRIMARY KEY,
  at timestamptz NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  resource text NOT NULL,
  record_id bigint NOT NULL,
  number bigint NOT NULL,
  kind text NOT NULL CONSTRAINT journal_kind CHECK (kind IN ('create', 'update', 'delete')),
  changed jsonb NOT NULL
);
CREATE INDEX IF NOT EXISTS journal_record ON service.journal (resource, record_id);

-- One row once a business was made up: the marker that it is complete.
CREATE TABLE IF NOT EXISTS service.business (
  is_only boolean DEFAULT true CONSTRAINT business_pk PRIMARY KEY
    CONSTRAINT business_only CHECK (is_only),
  seed text NOT NULL,
  customers integer NOT NULL,
  jobs integer NOT NULL,
  today date NOT NULL,
  time_zone text NOT NULL
);
-- The moment up to which the business was played; null if it was never played.
ALTER TABLE service.business ADD COLUMN IF NOT EXISTS played_until timestamptz;

-- Locked for as long as a rehearsal runs here. Only the owner may lock it.
CREATE TABLE IF NOT EXISTS service.rehearsal ();

-- Records that came while the business was played: which of its customers or jobs each of them is.
CREATE TABLE IF NOT EXISTS service.births (
  kind text NOT NULL CONSTRAINT births_kind CHECK (kind IN ('customer', 'job')),
  index integer NOT NULL,
  id bigint NOT NULL,
  number bigint NOT NULL,
  CONSTRAINT births_pk PRIMARY KEY (kind, index)
);

DO $$
DECLARE
  resource text;
BEGIN
  FOREACH resource IN ARRAY ARRAY['customers', 'jobs', 'job_charges', 'employees', 'time_entries',
                                  'tasks', 'notes', 'contacts', 'job_types', 'job_statuses',
                                  'tax_entities'] LOOP
    EXECUTE format('CREATE OR REPLACE TRIGGER announce
                    AFTER INSERT OR DELETE OR TRUNCATE ON service.%I
                    FOR EACH STATEMENT EXECUTE FUNCTION service.announce()', resource);
    EXECUTE format('CREATE OR REPLACE TRIGGER announce_update AFTER UPDATE ON service.%I
                    REFERENCING OLD TABLE AS before NEW TABLE AS after
                    FOR EACH STATEMENT EXECUTE FUNCTION service.announce_update()', resource);
    -- Rows of two to four kilobytes stay in their page: a list reads thirty of them at once.
    EXECUTE format('ALTER TABLE service.%I SET (toast_tuple_target = 8160)', resource);
  END LOOP;
END $$;

COMMENT ON TABLE service.journal IS 'Every effect of a request, in order, without secrets';
COMMENT ON TABLE service.births
  IS 'Customers and jobs that came while the made-up business was played';
COMMENT ON TABLE service.business IS 'The made-up business that was written here, if one was';
COMMENT ON TABLE service.rehearsal IS 'Locked for as long as a rehearsal runs here';
