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
ALTER TABLE "sync"."sweeps" DROP CONSTRAINT "sweeps_state_check";--> statement-breakpoint
ALTER TABLE "sync"."sweeps" DROP CONSTRAINT "sweeps_reasons_check";--> statement-breakpoint
ALTER TABLE "sync"."sweeps" DROP CONSTRAINT "sweeps_counts_check";--> statement-breakpoint
ALTER TABLE "warehouse"."employees" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."customers" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."contacts" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."customer_notes" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."tax_entities" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."jobs" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."job_employees" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."job_charges" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."time_entries" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."job_notes" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."job_types" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."job_statuses" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "warehouse"."tasks" ADD COLUMN "_page" integer;--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD COLUMN "sealed_token" "bytea";--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD COLUMN "key_id" text;--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD COLUMN "state" text DEFAULT 'active' NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD COLUMN "state_reason" text;--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD COLUMN "state_since" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD COLUMN "stage" text DEFAULT 'read' NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD COLUMN "known" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD COLUMN "asked" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD COLUMN "tombstoned" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD COLUMN "evidence" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD COLUMN "approved_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD COLUMN "approved_by" text;--> statement-breakpoint
ALTER TABLE "sync"."sightings" ADD CONSTRAINT "sightings_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."tombstones" ADD CONSTRAINT "tombstones_sweep_id_sweeps_sweep_id_fk" FOREIGN KEY ("sweep_id") REFERENCES "sync"."sweeps"("sweep_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."fields" ADD CONSTRAINT "fields_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."field_events" ADD CONSTRAINT "field_events_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "tombstones_number_idx" ON "sync"."tombstones" USING btree ("number","account_id","stream");--> statement-breakpoint
CREATE INDEX "absent_numbers_account_id_stream_idx" ON "sync"."absent_numbers" USING btree ("account_id","stream");--> statement-breakpoint
CREATE UNIQUE INDEX "fields_promoted_as_key" ON "sync"."fields" USING btree ("account_id","table_name","promoted_as") WHERE promoted_as IS NOT NULL;--> statement-breakpoint
CREATE INDEX "field_events_account_id_at_idx" ON "sync"."field_events" USING btree ("account_id","at");--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD CONSTRAINT "accounts_state_check" CHECK ("sync"."accounts"."state" IN ('active', 'paused', 'stopped'));--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD CONSTRAINT "accounts_state_reason_check" CHECK ("sync"."accounts"."state" <> 'stopped' OR "sync"."accounts"."state_reason" IS NOT NULL);--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD CONSTRAINT "accounts_sealed_token_check" CHECK (("sync"."accounts"."sealed_token" IS NULL) = ("sync"."accounts"."key_id" IS NULL));--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_stage_check" CHECK ("sync"."sweeps"."stage" IN ('read', 'verify', 'approved'));--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_stopped_check" CHECK ("sync"."sweeps"."state" <> 'stopped' OR "sync"."sweeps"."mode" = 'full');--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_approved_check" CHECK (("sync"."sweeps"."approved_at" IS NOT NULL) = ("sync"."sweeps"."stage" = 'approved') AND ("sync"."sweeps"."approved_at" IS NULL) = ("sync"."sweeps"."approved_by" IS NULL));--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_state_check" CHECK ("sync"."sweeps"."state" IN ('due', 'running', 'certified', 'uncertified', 'stopped', 'failed'));--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_reasons_check" CHECK (CASE "sync"."sweeps"."state" WHEN 'certified' THEN "sync"."sweeps"."reasons" = '{}' AND "sync"."sweeps"."error" IS NULL WHEN 'uncertified' THEN "sync"."sweeps"."reasons" <> '{}' WHEN 'stopped' THEN "sync"."sweeps"."reasons" <> '{}' ELSE true END);--> statement-breakpoint
ALTER TABLE "sync"."sweeps" ADD CONSTRAINT "sweeps_counts_check" CHECK (least("sync"."sweeps"."fence", "sync"."sweeps"."failures", "sync"."sweeps"."requests", "sync"."sweeps"."pages", "sync"."sweeps"."bytes", "sync"."sweeps"."records", "sync"."sweeps"."known", "sync"."sweeps"."asked", "sync"."sweeps"."inserted", "sync"."sweeps"."updated", "sync"."sweeps"."unchanged", "sync"."sweeps"."revived", "sync"."sweeps"."tombstoned", "sync"."sweeps"."vanished", "sync"."sweeps"."quarantined") >= 0);