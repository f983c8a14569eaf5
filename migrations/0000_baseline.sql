CREATE SCHEMA "warehouse";
--> statement-breakpoint
CREATE TABLE "warehouse"."employees" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."employees_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"employee_number" bigint,
	"name" text,
	"username" text,
	"active" boolean,
	"can_login" boolean,
	"admin" boolean,
	"is_account_owner" boolean,
	"limit_access_to_assignments" boolean,
	"hired_date" timestamp with time zone,
	"email_address" text,
	"home_phone" text,
	"cell_phone" text,
	"pager" text,
	"address" text,
	"city" text,
	"state" text,
	"zip_code" text,
	"notify_via_email" boolean,
	"notify_via_mobile" boolean,
	"notification_email_address" text,
	"notification_mobile_number" text,
	"notification_mobile_host" text,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "employees_key" UNIQUE("account_id","employee_number")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."customers" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."customers_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"customer_number" bigint,
	"name" text,
	"company" boolean,
	"company_name" text,
	"first_name" text,
	"last_name" text,
	"full_name" text,
	"is_active" boolean,
	"parent_id" bigint,
	"sublevel" bigint,
	"origin" text,
	"phone_number" text,
	"alt_phone_number" text,
	"mobile" text,
	"pager" text,
	"fax" text,
	"email_address" text,
	"phone" text,
	"alt_phone" text,
	"email" text,
	"contact" text,
	"alt_contact" text,
	"service_address" text,
	"service_address_2" text,
	"service_city" text,
	"service_zip_code" text,
	"service_state" text,
	"service_country" text,
	"billing_address" text,
	"billing_address_2" text,
	"billing_city" text,
	"billing_zip_code" text,
	"billing_state" text,
	"billing_country" text,
	"which_billing_address" text,
	"latitude" double precision,
	"longitude" double precision,
	"special_instructions" text,
	"balance" numeric,
	"total_balance" numeric,
	"credit_limit" numeric,
	"account_number" text,
	"resale_number" text,
	"tax_id" bigint,
	"sales_tax_code_id" bigint,
	"customer_type_id" bigint,
	"customer_source_id" bigint,
	"import_id" bigint,
	"is_statement_with_parent" boolean,
	"delivery_method" text,
	"job_status" text,
	"job_desc" text,
	"job_start_date" timestamp with time zone,
	"job_projected_end_date" timestamp with time zone,
	"job_end_date" timestamp with time zone,
	"last_job_completed_number" bigint,
	"last_job_completed_name" text,
	"last_job_completed_at" timestamp with time zone,
	"send_notifications" boolean,
	"send_reminders" boolean,
	"notify_via_email" boolean,
	"notify_via_sms" boolean,
	"notification_email" text,
	"notification_email_address" text,
	"notification_phone_number" text,
	"qb_error" text,
	"created_by" bigint,
	"updated_by" bigint,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "customers_key" UNIQUE("account_id","customer_number")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."contacts" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."contacts_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"customer_number" bigint,
	"customer_id" bigint,
	"name" text,
	"first_name" text,
	"last_name" text,
	"title" text,
	"phone_number" text,
	"alt_phone_number" text,
	"mobile" text,
	"fax" text,
	"email_address" text,
	"primary" boolean,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "contacts_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."customer_notes" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."customer_notes_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"customer_number" bigint,
	"customer_id" bigint,
	"note" text,
	"public" boolean,
	"noteable_id" bigint,
	"noteable_type" text,
	"created_by" bigint,
	"updated_by" bigint,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "customer_notes_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."tax_entities" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."tax_entities_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"name" text,
	"description" text,
	"tax_rate" numeric,
	"agency" text,
	"active" boolean,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "tax_entities_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."jobs" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."jobs_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"job_number" bigint,
	"customer_id" bigint,
	"customer_number" bigint,
	"name" text,
	"description" text,
	"status" text,
	"job_type_id" bigint,
	"job_status_id" bigint,
	"service_type_id" bigint,
	"po_number" text,
	"ref_number" text,
	"scheduled_on" timestamp with time zone,
	"ends_at" timestamp with time zone,
	"duration" numeric,
	"started_on" timestamp with time zone,
	"completed_on" timestamp with time zone,
	"on_hold" timestamp with time zone,
	"canceled_on" timestamp with time zone,
	"won_date" timestamp with time zone,
	"lost_date" timestamp with time zone,
	"schedule" text,
	"tasks_count" bigint,
	"subtotal" numeric,
	"tax" numeric,
	"total" numeric,
	"balance_remaining" numeric,
	"total_expenses" numeric,
	"sales_tax_percentage" numeric,
	"tax_id" bigint,
	"txn_date" timestamp with time zone,
	"ship_date" timestamp with time zone,
	"invoice_status" text,
	"invoice_date" timestamp with time zone,
	"invoice_sent_date" timestamp with time zone,
	"invoice_viewed_on" timestamp with time zone,
	"invoice_paid_on" timestamp with time zone,
	"invoice_terms" text,
	"invoice_notes" text,
	"detailed_invoice" boolean,
	"estimate_type" text,
	"estimate_scheduled_on" timestamp with time zone,
	"estimate_sent_on" timestamp with time zone,
	"estimate_viewed_on" timestamp with time zone,
	"estimate_terms" text,
	"estimate_notes" text,
	"recurring_job_id" bigint,
	"recurring_interval" text,
	"recurring_date" timestamp with time zone,
	"last_recurring_date" timestamp with time zone,
	"recurring_end_date" timestamp with time zone,
	"recurring_ended" boolean,
	"recurring_iterator" bigint,
	"max_recurring_iterator" bigint,
	"chosen_days_of_week" jsonb,
	"job_allocations" jsonb,
	"self_service" boolean,
	"notification_sent" boolean,
	"ok_to_sync" boolean,
	"qb_error" text,
	"created_by" bigint,
	"updated_by" bigint,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "jobs_key" UNIQUE("account_id","job_number")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."job_employees" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."job_employees_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"job_number" bigint,
	"job_id" bigint,
	"employee_id" bigint,
	"employee_number" bigint,
	"name" text,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "job_employees_key" UNIQUE("account_id","job_number","employee_id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."job_charges" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."job_charges_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"job_number" bigint,
	"job_id" bigint,
	"item_id" bigint,
	"job_charge_type_id" bigint,
	"description" text,
	"details" text,
	"quantity" numeric,
	"price_per_unit" numeric,
	"discount" numeric,
	"total" numeric,
	"tax_id" bigint,
	"sales_tax_code_id" bigint,
	"sort_order" bigint,
	"recurring_item_parent_id" bigint,
	"updated_by" bigint,
	"created_on" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "job_charges_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."time_entries" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."time_entries_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"job_number" bigint,
	"job_id" bigint,
	"employee_id" bigint,
	"started_on" timestamp with time zone,
	"ended_on" timestamp with time zone,
	"number_of_hours" numeric,
	"note" text,
	"mileage" numeric,
	"billable" boolean,
	"time_entry_type_id" bigint,
	"created_by" bigint,
	"updated_by" bigint,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "time_entries_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."job_notes" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."job_notes_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"job_number" bigint,
	"job_id" bigint,
	"note" text,
	"public" boolean,
	"noteable_id" bigint,
	"noteable_type" text,
	"created_by" bigint,
	"updated_by" bigint,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "job_notes_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."job_types" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."job_types_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"name" text,
	"description" text,
	"duration" numeric,
	"active" boolean,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "job_types_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."job_statuses" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."job_statuses_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"name" text,
	"description" text,
	"color" text,
	"active" boolean,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "job_statuses_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "warehouse"."tasks" (
	"row_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "warehouse"."tasks_row_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"external_key" text,
	"id" bigint,
	"name" text,
	"description" text,
	"job_id" bigint,
	"job_number" bigint,
	"customer_id" bigint,
	"customer_number" bigint,
	"employee_id" bigint,
	"employee_number" bigint,
	"task_type_id" bigint,
	"scheduled_at" timestamp with time zone,
	"ends_at" timestamp with time zone,
	"duration" numeric,
	"completed" boolean,
	"completed_at" timestamp with time zone,
	"created_by" bigint,
	"updated_by" bigint,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"_hash" "bytea",
	"_first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_changed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_sweep_id" bigint,
	"_page" integer,
	"parent_row_id" bigint,
	"_change_id" bigint,
	"_pending" boolean,
	CONSTRAINT "tasks_key" UNIQUE("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "sync"."accounts" (
	"account_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."accounts_account_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"api_url" text NOT NULL,
	"time_zone" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"sealed_token" "bytea",
	"key_id" text,
	"employee_id" bigint,
	"state" text DEFAULT 'active' NOT NULL,
	"state_reason" text,
	"state_since" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "accounts_name_key" UNIQUE("name"),
	CONSTRAINT "accounts_state_check" CHECK ("sync"."accounts"."state" IN ('active', 'paused', 'stopped')),
	CONSTRAINT "accounts_state_reason_check" CHECK ("sync"."accounts"."state" <> 'stopped' OR "sync"."accounts"."state_reason" IS NOT NULL),
	CONSTRAINT "accounts_sealed_token_check" CHECK (("sync"."accounts"."sealed_token" IS NULL) = ("sync"."accounts"."key_id" IS NULL))
);
--> statement-breakpoint
CREATE TABLE "sync"."sweeps" (
	"sweep_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."sweeps_sweep_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"mode" text NOT NULL,
	"window_name" text,
	"record_number" bigint,
	"state" text DEFAULT 'due' NOT NULL,
	"requested_by" text NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"stage" text DEFAULT 'read' NOT NULL,
	"next_page" integer DEFAULT 1 NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"requests" bigint DEFAULT 0 NOT NULL,
	"pages" bigint DEFAULT 0 NOT NULL,
	"bytes" bigint DEFAULT 0 NOT NULL,
	"records" bigint DEFAULT 0 NOT NULL,
	"known" bigint DEFAULT 0 NOT NULL,
	"asked" bigint DEFAULT 0 NOT NULL,
	"inserted" bigint DEFAULT 0 NOT NULL,
	"updated" bigint DEFAULT 0 NOT NULL,
	"unchanged" bigint DEFAULT 0 NOT NULL,
	"revived" bigint DEFAULT 0 NOT NULL,
	"tombstoned" bigint DEFAULT 0 NOT NULL,
	"vanished" bigint DEFAULT 0 NOT NULL,
	"quarantined" bigint DEFAULT 0 NOT NULL,
	"reasons" text[] DEFAULT '{}'::text[] NOT NULL,
	"error" text,
	"evidence" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"approved_at" timestamp with time zone,
	"approved_by" text,
	CONSTRAINT "sweeps_mode_check" CHECK ("sync"."sweeps"."mode" IN ('full', 'window', 'record')),
	CONSTRAINT "sweeps_state_check" CHECK ("sync"."sweeps"."state" IN ('due', 'running', 'certified', 'refreshed', 'uncertified', 'stopped', 'failed')),
	CONSTRAINT "sweeps_requested_by_check" CHECK ("sync"."sweeps"."requested_by" IN ('schedule', 'command')),
	CONSTRAINT "sweeps_window_name_check" CHECK (("sync"."sweeps"."window_name" IS NOT NULL) = ("sync"."sweeps"."mode" = 'window')),
	CONSTRAINT "sweeps_record_number_check" CHECK (("sync"."sweeps"."record_number" IS NOT NULL) = ("sync"."sweeps"."mode" = 'record')),
	CONSTRAINT "sweeps_ended_at_check" CHECK (("sync"."sweeps"."ended_at" IS NULL) = ("sync"."sweeps"."state" IN ('due', 'running'))),
	CONSTRAINT "sweeps_lease_until_check" CHECK (("sync"."sweeps"."lease_until" IS NOT NULL) = ("sync"."sweeps"."state" = 'running')),
	CONSTRAINT "sweeps_started_at_check" CHECK ("sync"."sweeps"."state" IN ('due', 'failed') OR "sync"."sweeps"."started_at" IS NOT NULL),
	CONSTRAINT "sweeps_error_check" CHECK ("sync"."sweeps"."state" <> 'failed' OR "sync"."sweeps"."error" IS NOT NULL),
	CONSTRAINT "sweeps_reasons_check" CHECK (CASE "sync"."sweeps"."state" WHEN 'certified' THEN "sync"."sweeps"."reasons" = '{}' AND "sync"."sweeps"."error" IS NULL WHEN 'refreshed' THEN "sync"."sweeps"."reasons" = '{}' AND "sync"."sweeps"."error" IS NULL WHEN 'uncertified' THEN "sync"."sweeps"."reasons" <> '{}' WHEN 'stopped' THEN "sync"."sweeps"."reasons" <> '{}' ELSE true END),
	CONSTRAINT "sweeps_stage_check" CHECK ("sync"."sweeps"."stage" IN ('read', 'verify', 'approved')),
	CONSTRAINT "sweeps_refreshed_check" CHECK ("sync"."sweeps"."state" NOT IN ('certified', 'refreshed') OR ("sync"."sweeps"."state" = 'refreshed') = ("sync"."sweeps"."mode" = 'window')),
	CONSTRAINT "sweeps_stopped_check" CHECK ("sync"."sweeps"."state" <> 'stopped' OR "sync"."sweeps"."mode" = 'full'),
	CONSTRAINT "sweeps_approved_check" CHECK (("sync"."sweeps"."approved_at" IS NOT NULL) = ("sync"."sweeps"."stage" = 'approved') AND ("sync"."sweeps"."approved_at" IS NULL) = ("sync"."sweeps"."approved_by" IS NULL)),
	CONSTRAINT "sweeps_next_page_check" CHECK ("sync"."sweeps"."next_page" >= 1),
	CONSTRAINT "sweeps_counts_check" CHECK (least("sync"."sweeps"."fence", "sync"."sweeps"."failures", "sync"."sweeps"."requests", "sync"."sweeps"."pages", "sync"."sweeps"."bytes", "sync"."sweeps"."records", "sync"."sweeps"."known", "sync"."sweeps"."asked", "sync"."sweeps"."inserted", "sync"."sweeps"."updated", "sync"."sweeps"."unchanged", "sync"."sweeps"."revived", "sync"."sweeps"."tombstoned", "sync"."sweeps"."vanished", "sync"."sweeps"."quarantined") >= 0)
);
--> statement-breakpoint
CREATE TABLE "sync"."schedules" (
	"schedule_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."schedules_schedule_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"name" text NOT NULL,
	"stream" text NOT NULL,
	"mode" text NOT NULL,
	"window_name" text,
	"every_ms" bigint NOT NULL,
	"next_due_at" timestamp with time zone NOT NULL,
	"last_rung_at" timestamp with time zone,
	CONSTRAINT "schedules_name_key" UNIQUE("account_id","name"),
	CONSTRAINT "schedules_mode_check" CHECK ("sync"."schedules"."mode" IN ('full', 'window')),
	CONSTRAINT "schedules_window_name_check" CHECK (("sync"."schedules"."window_name" IS NOT NULL) = ("sync"."schedules"."mode" = 'window')),
	CONSTRAINT "schedules_every_ms_check" CHECK ("sync"."schedules"."every_ms" > 0)
);
--> statement-breakpoint
CREATE TABLE "sync"."quarantine" (
	"quarantine_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."quarantine_quarantine_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"number" bigint,
	"sweep_id" bigint,
	"page" integer,
	"reason" text NOT NULL,
	"xml" text NOT NULL,
	"xml_hash" "bytea" NOT NULL,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"resolved_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "sync"."known_records" (
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"number" bigint NOT NULL,
	"bytes_hash" "bytea" NOT NULL,
	"shape" integer NOT NULL,
	CONSTRAINT "known_records_pkey" PRIMARY KEY("number","account_id","stream")
);
--> statement-breakpoint
CREATE TABLE "sync"."sightings" (
	"sweep_id" bigint NOT NULL,
	"next_page" integer NOT NULL,
	"numbers" "bytea" NOT NULL,
	CONSTRAINT "sightings_pkey" PRIMARY KEY("sweep_id","next_page")
);
--> statement-breakpoint
CREATE TABLE "sync"."tombstones" (
	"sweep_id" bigint NOT NULL,
	"number" bigint NOT NULL,
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"status" integer,
	"words" text,
	"asked_at" timestamp with time zone,
	"written_at" timestamp with time zone,
	"undone_at" timestamp with time zone,
	CONSTRAINT "tombstones_pkey" PRIMARY KEY("sweep_id","number"),
	CONSTRAINT "tombstones_evidence_check" CHECK (("sync"."tombstones"."status" IS NULL) = ("sync"."tombstones"."asked_at" IS NULL)),
	CONSTRAINT "tombstones_written_at_check" CHECK ("sync"."tombstones"."written_at" IS NULL OR "sync"."tombstones"."asked_at" IS NOT NULL),
	CONSTRAINT "tombstones_undone_at_check" CHECK ("sync"."tombstones"."undone_at" IS NULL OR "sync"."tombstones"."written_at" IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "sync"."absent_numbers" (
	"number" bigint NOT NULL,
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"sweep_id" bigint NOT NULL,
	"status" integer NOT NULL,
	"words" text NOT NULL,
	"asked_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "absent_numbers_pkey" PRIMARY KEY("number","account_id","stream")
);
--> statement-breakpoint
CREATE TABLE "sync"."fields" (
	"account_id" bigint NOT NULL,
	"table_name" text NOT NULL,
	"field" text NOT NULL,
	"stream" text NOT NULL,
	"types" text[] NOT NULL,
	"column_name" text,
	"filled_share" real,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_sweep_id" bigint NOT NULL,
	"vanished_at" timestamp with time zone,
	"promoted_as" text,
	CONSTRAINT "fields_pkey" PRIMARY KEY("account_id","table_name","field"),
	CONSTRAINT "fields_filled_share_check" CHECK ("sync"."fields"."filled_share" BETWEEN 0 AND 1),
	CONSTRAINT "fields_promoted_as_check" CHECK ("sync"."fields"."promoted_as" IS NULL OR ("sync"."fields"."column_name" IS NULL AND "sync"."fields"."promoted_as" ~ '^[a-z][a-z0-9_]{0,62}$'))
);
--> statement-breakpoint
CREATE TABLE "sync"."field_events" (
	"event_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."field_events_event_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"table_name" text NOT NULL,
	"field" text NOT NULL,
	"kind" text NOT NULL,
	"detail" text NOT NULL,
	"sweep_id" bigint NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "field_events_kind_check" CHECK ("sync"."field_events"."kind" IN ('new', 'vanished', 'returned', 'retyped'))
);
--> statement-breakpoint
CREATE TABLE "sync"."changes" (
	"change_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."changes_change_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" bigint NOT NULL,
	"table_name" text NOT NULL,
	"row_id" bigint NOT NULL,
	"operation" text NOT NULL,
	"number" bigint,
	"parent_row_id" bigint,
	"external_key" text,
	"fields" jsonb NOT NULL,
	"base" jsonb NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"reason" text,
	"waits_for" bigint,
	"held_for" text,
	"fingerprint" "bytea",
	"requested_at" timestamp with time zone DEFAULT now() NOT NULL,
	"requested_by" text DEFAULT session_user NOT NULL,
	"application" text,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"sends" integer DEFAULT 0 NOT NULL,
	"sent_at" timestamp with time zone,
	"looks" integer DEFAULT 0 NOT NULL,
	"result" jsonb,
	"settled_at" timestamp with time zone,
	CONSTRAINT "changes_operation_check" CHECK ("sync"."changes"."operation" IN ('create', 'update', 'delete')),
	CONSTRAINT "changes_state_check" CHECK ("sync"."changes"."state" IN ('held', 'pending', 'sending', 'in_doubt', 'conflict', 'done', 'rejected', 'cancelled')),
	CONSTRAINT "changes_fields_check" CHECK (CASE "sync"."changes"."operation" WHEN 'update' THEN "sync"."changes"."fields" <> '{}' WHEN 'delete' THEN "sync"."changes"."fields" = '{}' ELSE true END),
	CONSTRAINT "changes_number_check" CHECK ("sync"."changes"."operation" = 'create' OR "sync"."changes"."number" IS NOT NULL OR "sync"."changes"."waits_for" IS NOT NULL OR "sync"."changes"."state" IN ('rejected', 'cancelled')),
	CONSTRAINT "changes_done_check" CHECK ("sync"."changes"."state" <> 'done' OR "sync"."changes"."number" IS NOT NULL),
	CONSTRAINT "changes_settled_at_check" CHECK (("sync"."changes"."settled_at" IS NOT NULL) = ("sync"."changes"."state" IN ('done', 'rejected', 'cancelled'))),
	CONSTRAINT "changes_reason_check" CHECK ("sync"."changes"."state" NOT IN ('in_doubt', 'conflict', 'rejected', 'cancelled') OR "sync"."changes"."reason" IS NOT NULL),
	CONSTRAINT "changes_sent_at_check" CHECK ("sync"."changes"."state" NOT IN ('sending', 'in_doubt') OR ("sync"."changes"."sent_at" IS NOT NULL AND "sync"."changes"."sends" > 0)),
	CONSTRAINT "changes_lease_until_check" CHECK ("sync"."changes"."state" <> 'sending' OR "sync"."changes"."lease_until" IS NOT NULL),
	CONSTRAINT "changes_waits_for_check" CHECK ("sync"."changes"."waits_for" IS NULL OR "sync"."changes"."state" IN ('held', 'pending', 'conflict', 'rejected', 'cancelled')),
	CONSTRAINT "changes_sends_check" CHECK ("sync"."changes"."operation" <> 'create' OR "sync"."changes"."sends" <= 2),
	CONSTRAINT "changes_counts_check" CHECK (least("sync"."changes"."fence", "sync"."changes"."failures", "sync"."changes"."sends", "sync"."changes"."looks") >= 0)
);
--> statement-breakpoint
CREATE TABLE "sync"."attempts" (
	"attempt_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."attempts_attempt_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"change_id" bigint NOT NULL,
	"fence" integer NOT NULL,
	"method" text NOT NULL,
	"path" text NOT NULL,
	"request" text,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	"outcome" text,
	"status" integer,
	"answer" text,
	CONSTRAINT "attempts_method_check" CHECK ("sync"."attempts"."method" IN ('POST', 'PUT', 'DELETE')),
	CONSTRAINT "attempts_outcome_check" CHECK ("sync"."attempts"."outcome" IN ('done', 'refused', 'not-sent', 'in-doubt') AND "sync"."attempts"."ended_at" IS NOT NULL OR "sync"."attempts"."outcome" IS NULL AND "sync"."attempts"."ended_at" IS NULL)
);
--> statement-breakpoint
CREATE TABLE "sync"."alterations" (
	"alteration_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."alterations_alteration_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"change_id" bigint NOT NULL,
	"account_id" bigint NOT NULL,
	"field" text NOT NULL,
	"kind" text NOT NULL,
	"sent" jsonb NOT NULL,
	"got" jsonb NOT NULL,
	"is_stop" boolean NOT NULL,
	"found_at" timestamp with time zone DEFAULT now() NOT NULL,
	"looked_at" timestamp with time zone,
	"looked_by" text,
	CONSTRAINT "alterations_looked_at_check" CHECK (("sync"."alterations"."looked_at" IS NULL) = ("sync"."alterations"."looked_by" IS NULL) AND NOT ("sync"."alterations"."is_stop" AND "sync"."alterations"."looked_at" IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "sync"."conflicts" (
	"conflict_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."conflicts_conflict_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"change_id" bigint NOT NULL,
	"field" text NOT NULL,
	"base_value" jsonb NOT NULL,
	"warehouse_value" jsonb NOT NULL,
	"service_value" jsonb NOT NULL,
	"rule" text NOT NULL,
	"winner" text,
	"found_at" timestamp with time zone DEFAULT now() NOT NULL,
	"decided_at" timestamp with time zone,
	"decided_by" text,
	CONSTRAINT "conflicts_rule_check" CHECK ("sync"."conflicts"."rule" IN ('service', 'warehouse', 'newest', 'ask')),
	CONSTRAINT "conflicts_winner_check" CHECK ("sync"."conflicts"."winner" IN ('service', 'warehouse')),
	CONSTRAINT "conflicts_decided_at_check" CHECK (("sync"."conflicts"."winner" IS NULL) = ("sync"."conflicts"."decided_at" IS NULL) AND ("sync"."conflicts"."winner" IS NULL) = ("sync"."conflicts"."decided_by" IS NULL))
);
--> statement-breakpoint
CREATE TABLE "sync"."write_rules" (
	"table_name" text NOT NULL,
	"field" text NOT NULL,
	"kind" text NOT NULL,
	"on_create" boolean NOT NULL,
	"on_update" boolean NOT NULL,
	"field_group" text,
	"required" boolean NOT NULL,
	"minimum" numeric,
	"rule" text DEFAULT 'ask' NOT NULL,
	CONSTRAINT "write_rules_pkey" PRIMARY KEY("table_name","field"),
	CONSTRAINT "write_rules_kind_check" CHECK ("sync"."write_rules"."kind" IN ('text', 'integer', 'decimal', 'boolean', 'instant', 'ids', 'secret')),
	CONSTRAINT "write_rules_rule_check" CHECK ("sync"."write_rules"."rule" IN ('service', 'warehouse', 'newest', 'ask'))
);
--> statement-breakpoint
CREATE TABLE "sync"."door_keys" (
	"door_key_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."door_keys_door_key_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"account_id" bigint NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"may_write" boolean NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_by" text DEFAULT session_user NOT NULL,
	"last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "door_keys_key_hash_key" UNIQUE("key_hash"),
	CONSTRAINT "door_keys_name_key" UNIQUE("name"),
	CONSTRAINT "door_keys_key_hash_check" CHECK (length("sync"."door_keys"."key_hash") = 32)
);
--> statement-breakpoint
CREATE TABLE "sync"."door_requests" (
	"account_id" bigint NOT NULL,
	"idempotency_key" text NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"results" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"requested_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "door_requests_pkey" PRIMARY KEY("account_id","idempotency_key")
);
--> statement-breakpoint
CREATE TABLE "sync"."login_keys" (
	"login_key_id" text PRIMARY KEY NOT NULL,
	"public_key" "bytea" NOT NULL,
	"sealed_private_key" "bytea",
	"sealed_by" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sync"."employee_logins" (
	"change_id" bigint PRIMARY KEY NOT NULL,
	"login_key_id" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sync"."author_accounts" (
	"role_name" text NOT NULL,
	"account_id" bigint NOT NULL,
	"granted_at" timestamp with time zone DEFAULT now() NOT NULL,
	"granted_by" text DEFAULT session_user NOT NULL,
	CONSTRAINT "author_accounts_pkey" PRIMARY KEY("role_name","account_id")
);
--> statement-breakpoint
CREATE TABLE "sync"."source" (
	"only_row" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"version" text NOT NULL,
	"hash" text NOT NULL,
	"applied_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "source_only_row_check" CHECK ("sync"."source"."only_row" = 1)
);
--> statement-breakpoint
CREATE TABLE "sync"."workers" (
	"worker_id" uuid PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"pid" integer NOT NULL,
	"version" text NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"account_ids" bigint[] NOT NULL,
	"key_ids" text[] NOT NULL,
	"given_account_id" bigint,
	"given_token_mark" text,
	CONSTRAINT "workers_given_token_mark_check" CHECK (("sync"."workers"."given_account_id" IS NULL) = ("sync"."workers"."given_token_mark" IS NULL))
);
--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."schedules" ADD CONSTRAINT "schedules_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."quarantine" ADD CONSTRAINT "quarantine_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."quarantine" ADD CONSTRAINT "quarantine_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."sightings" ADD CONSTRAINT "sightings_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."tombstones" ADD CONSTRAINT "tombstones_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."fields" ADD CONSTRAINT "fields_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."field_events" ADD CONSTRAINT "field_events_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."changes" ADD CONSTRAINT "changes_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."attempts" ADD CONSTRAINT "attempts_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."alterations" ADD CONSTRAINT "alterations_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."conflicts" ADD CONSTRAINT "conflicts_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."door_keys" ADD CONSTRAINT "door_keys_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."door_requests" ADD CONSTRAINT "door_requests_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."employee_logins" ADD CONSTRAINT "employee_logins_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."employee_logins" ADD CONSTRAINT "employee_logins_login_key_id_login_keys_login_key_id_fk" FOREIGN KEY ("login_key_id") REFERENCES "sync"."login_keys"("login_key_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."author_accounts" ADD CONSTRAINT "author_accounts_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "employees_external_key" ON "warehouse"."employees" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "employees_id_idx" ON "warehouse"."employees" USING btree ("account_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "customers_external_key" ON "warehouse"."customers" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "customers_id_idx" ON "warehouse"."customers" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "customers_parent_id_idx" ON "warehouse"."customers" USING btree ("account_id","parent_id");--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_external_key" ON "warehouse"."contacts" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "contacts_customer_number_idx" ON "warehouse"."contacts" USING btree ("account_id","customer_number");--> statement-breakpoint
CREATE UNIQUE INDEX "customer_notes_external_key" ON "warehouse"."customer_notes" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "customer_notes_customer_number_idx" ON "warehouse"."customer_notes" USING btree ("account_id","customer_number");--> statement-breakpoint
CREATE UNIQUE INDEX "tax_entities_external_key" ON "warehouse"."tax_entities" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_external_key" ON "warehouse"."jobs" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_id_idx" ON "warehouse"."jobs" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "jobs_customer_number_idx" ON "warehouse"."jobs" USING btree ("account_id","customer_number");--> statement-breakpoint
CREATE UNIQUE INDEX "job_employees_external_key" ON "warehouse"."job_employees" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "job_charges_external_key" ON "warehouse"."job_charges" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "job_charges_job_number_idx" ON "warehouse"."job_charges" USING btree ("account_id","job_number");--> statement-breakpoint
CREATE UNIQUE INDEX "time_entries_external_key" ON "warehouse"."time_entries" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "time_entries_job_number_idx" ON "warehouse"."time_entries" USING btree ("account_id","job_number");--> statement-breakpoint
CREATE UNIQUE INDEX "job_notes_external_key" ON "warehouse"."job_notes" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "job_notes_job_number_idx" ON "warehouse"."job_notes" USING btree ("account_id","job_number");--> statement-breakpoint
CREATE UNIQUE INDEX "job_types_external_key" ON "warehouse"."job_types" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "job_statuses_external_key" ON "warehouse"."job_statuses" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "tasks_external_key" ON "warehouse"."tasks" USING btree ("account_id","external_key") WHERE external_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "tasks_job_id_idx" ON "warehouse"."tasks" USING btree ("account_id","job_id");--> statement-breakpoint
CREATE UNIQUE INDEX "sweeps_unfinished_key" ON "sync"."sweeps" USING btree ("account_id","stream","mode",coalesce(window_name, ''),coalesce(record_number, 0)) WHERE state IN ('due', 'running');--> statement-breakpoint
CREATE INDEX "sweeps_latest_idx" ON "sync"."sweeps" USING btree ("account_id","stream","mode","sweep_id");--> statement-breakpoint
CREATE UNIQUE INDEX "quarantine_number_key" ON "sync"."quarantine" USING btree ("account_id","stream","number") WHERE number IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "quarantine_xml_hash_key" ON "sync"."quarantine" USING btree ("account_id","stream","xml_hash") WHERE number IS NULL;--> statement-breakpoint
CREATE INDEX "quarantine_unresolved_idx" ON "sync"."quarantine" USING btree ("account_id","stream","number") WHERE resolved_at IS NULL;--> statement-breakpoint
CREATE INDEX "known_records_bytes_hash_idx" ON "sync"."known_records" USING btree ("bytes_hash");--> statement-breakpoint
CREATE INDEX "tombstones_number_idx" ON "sync"."tombstones" USING btree ("number","account_id","stream");--> statement-breakpoint
CREATE INDEX "absent_numbers_account_id_stream_idx" ON "sync"."absent_numbers" USING btree ("account_id","stream");--> statement-breakpoint
CREATE UNIQUE INDEX "fields_promoted_as_key" ON "sync"."fields" USING btree ("account_id","table_name","promoted_as") WHERE promoted_as IS NOT NULL;--> statement-breakpoint
CREATE INDEX "field_events_account_id_at_idx" ON "sync"."field_events" USING btree ("account_id","at");--> statement-breakpoint
CREATE UNIQUE INDEX "changes_on_its_way_key" ON "sync"."changes" USING btree ("table_name","row_id") WHERE state IN ('sending', 'in_doubt');--> statement-breakpoint
CREATE UNIQUE INDEX "changes_create_on_its_way_key" ON "sync"."changes" USING btree ("fingerprint") WHERE operation = 'create' AND state IN ('sending', 'in_doubt');--> statement-breakpoint
CREATE UNIQUE INDEX "changes_created_key" ON "sync"."changes" USING btree ("number","table_name","account_id") WHERE operation = 'create' AND number IS NOT NULL;--> statement-breakpoint
CREATE INDEX "changes_ready_idx" ON "sync"."changes" USING btree ("account_id","due_at","change_id") WHERE state IN ('pending', 'in_doubt') AND waits_for IS NULL;--> statement-breakpoint
CREATE INDEX "changes_sending_idx" ON "sync"."changes" USING btree ("lease_until") WHERE state = 'sending';--> statement-breakpoint
CREATE INDEX "changes_open_idx" ON "sync"."changes" USING btree ("row_id","table_name","change_id") WHERE state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict');--> statement-breakpoint
CREATE INDEX "changes_open_number_idx" ON "sync"."changes" USING btree ("number","table_name") WHERE state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict');--> statement-breakpoint
CREATE INDEX "changes_rejected_idx" ON "sync"."changes" USING btree ("account_id","settled_at") WHERE state = 'rejected';--> statement-breakpoint
CREATE INDEX "changes_waits_for_idx" ON "sync"."changes" USING btree ("waits_for") WHERE waits_for IS NOT NULL;--> statement-breakpoint
CREATE INDEX "changes_row_id_idx" ON "sync"."changes" USING btree ("row_id","table_name","change_id");--> statement-breakpoint
CREATE INDEX "changes_sent_again_idx" ON "sync"."changes" USING btree ("row_id","table_name") WHERE sends > 1 AND operation <> 'create';--> statement-breakpoint
CREATE INDEX "attempts_change_id_idx" ON "sync"."attempts" USING btree ("change_id");--> statement-breakpoint
CREATE INDEX "alterations_change_id_idx" ON "sync"."alterations" USING btree ("change_id");--> statement-breakpoint
CREATE INDEX "alterations_kind_idx" ON "sync"."alterations" USING btree ("account_id","kind");--> statement-breakpoint
CREATE INDEX "alterations_stop_idx" ON "sync"."alterations" USING btree ("account_id","kind") WHERE is_stop;--> statement-breakpoint
CREATE INDEX "alterations_open_idx" ON "sync"."alterations" USING btree ("account_id","found_at") WHERE looked_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "conflicts_undecided_key" ON "sync"."conflicts" USING btree ("change_id","field") WHERE winner IS NULL;--> statement-breakpoint
CREATE INDEX "conflicts_change_id_idx" ON "sync"."conflicts" USING btree ("change_id");--> statement-breakpoint
CREATE INDEX "door_requests_requested_at_idx" ON "sync"."door_requests" USING btree ("account_id","requested_at");--> statement-breakpoint
CREATE SCHEMA mart;
--> statement-breakpoint
CREATE SCHEMA history;
--> statement-breakpoint
-- Who wrote what no sweep wrote. Sweeps leave their number in the row.
CREATE TABLE history.edits (
	row_id bigint NOT NULL,
	table_name text NOT NULL,
	at timestamptz NOT NULL,
	kind text NOT NULL,
	written_by text NOT NULL,
	application text,
	CONSTRAINT edits_pkey PRIMARY KEY (row_id, table_name, at),
	CONSTRAINT edits_kind_check CHECK (kind IN ('insert', 'update', 'delete'))
);
