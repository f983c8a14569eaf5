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
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."schedules" ADD CONSTRAINT "schedules_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."quarantine" ADD CONSTRAINT "quarantine_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."quarantine" ADD CONSTRAINT "quarantine_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."sightings" ADD CONSTRAINT "sightings_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."tombstones" ADD CONSTRAINT "tombstones_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."fields" ADD CONSTRAINT "fields_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."field_events" ADD CONSTRAINT "field_events_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "sweeps_unfinished_key" ON "sync"."sweeps" USING btree ("account_id","stream","mode",coalesce(window_name, ''),coalesce(record_number, 0)) WHERE state IN ('due', 'running');
--> statement-breakpoint
CREATE INDEX "sweeps_latest_idx" ON "sync"."sweeps" USING btree ("account_id","stream","mode","sweep_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "quarantine_number_key" ON "sync"."quarantine" USING btree ("account_id","stream","number") WHERE number IS NOT NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX "quarantine_xml_hash_key" ON "sync"."quarantine" USING btree ("account_id","stream","xml_hash") WHERE number IS NULL;
--> statement-breakpoint
CREATE INDEX "quarantine_unresolved_idx" ON "sync"."quarantine" USING btree ("account_id","stream","number") WHERE resolved_at IS NULL;
--> statement-breakpoint
CREATE INDEX "known_records_bytes_hash_idx" ON "sync"."known_records" USING btree ("bytes_hash");
--> statement-breakpoint
CREATE INDEX "tombstones_number_idx" ON "sync"."tombstones" USING btree ("number","account_id","stream");
--> statement-breakpoint
CREATE INDEX "absent_numbers_account_id_stream_idx" ON "sync"."absent_numbers" USING btree ("account_id","stream");
--> statement-breakpoint
CREATE UNIQUE INDEX "fields_promoted_as_key" ON "sync"."fields" USING btree ("account_id","table_name","promoted_as") WHERE promoted_as IS NOT NULL;
--> statement-breakpoint
CREATE INDEX "field_events_account_id_at_idx" ON "sync"."field_events" USING btree ("account_id","at");
