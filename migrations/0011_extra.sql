-- ActiveRecord has a method of the name `attributes`, so no table with a column of that name can be used with it. The tables of
-- history and their views were made by functions: a new warehouse has none yet.
DO $$
DECLARE
	held record;
BEGIN
	FOR held IN
		SELECT attrelid::regclass AS place FROM pg_attribute
			JOIN pg_class ON pg_class.oid = attrelid AND relkind IN ('r', 'v')
			JOIN pg_namespace ON pg_namespace.oid = relnamespace AND nspname IN ('warehouse', 'history')
		 WHERE attname = 'attributes' AND attnum > 0 AND NOT attisdropped
		 ORDER BY relkind, attrelid
	LOOP
		EXECUTE format('ALTER TABLE %s RENAME COLUMN attributes TO extra', held.place);
	END LOOP;
END $$;
--> statement-breakpoint
DROP INDEX "warehouse"."employees_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "employees_external_key" ON "warehouse"."employees" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."customers_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "customers_external_key" ON "warehouse"."customers" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."contacts_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_external_key" ON "warehouse"."contacts" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."customer_notes_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "customer_notes_external_key" ON "warehouse"."customer_notes" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."tax_entities_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "tax_entities_external_key" ON "warehouse"."tax_entities" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."jobs_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_external_key" ON "warehouse"."jobs" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."job_employees_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "job_employees_external_key" ON "warehouse"."job_employees" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."job_charges_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "job_charges_external_key" ON "warehouse"."job_charges" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."time_entries_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "time_entries_external_key" ON "warehouse"."time_entries" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."job_notes_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "job_notes_external_key" ON "warehouse"."job_notes" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."job_types_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "job_types_external_key" ON "warehouse"."job_types" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."job_statuses_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "job_statuses_external_key" ON "warehouse"."job_statuses" USING btree ("account_id","external_key");
--> statement-breakpoint
DROP INDEX "warehouse"."tasks_external_key";
--> statement-breakpoint
CREATE UNIQUE INDEX "tasks_external_key" ON "warehouse"."tasks" USING btree ("account_id","external_key");
