CREATE TABLE "sync"."retention" (
	"kind" text PRIMARY KEY NOT NULL,
	"kept_for" interval,
	"pruned_to" timestamp with time zone,
	"removed" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "retention_kind_check" CHECK ("sync"."retention"."kind" IN ('quiet_sweeps', 'settled_changes', 'versions', 'alerts', 'audit', 'sessions')),
	CONSTRAINT "retention_kept_for_check" CHECK ("sync"."retention"."kept_for" >= CASE "sync"."retention"."kind" WHEN 'quiet_sweeps' THEN interval '2 days' WHEN 'settled_changes' THEN interval '31 days' WHEN 'versions' THEN interval '31 days' WHEN 'alerts' THEN interval '2 days' WHEN 'audit' THEN interval '31 days' WHEN 'sessions' THEN interval '2 days' END),
	CONSTRAINT "retention_removed_check" CHECK ("sync"."retention"."removed" >= 0)
);
--> statement-breakpoint
CREATE TABLE "sync"."prunings" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"fence" integer DEFAULT 1 NOT NULL,
	"lease_until" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"joined_to" timestamp with time zone,
	CONSTRAINT "prunings_is_only_check" CHECK ("sync"."prunings"."is_only")
);
--> statement-breakpoint
CREATE TABLE "sync"."sweep_days" (
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"mode" text NOT NULL,
	"window_name" text,
	"day" date NOT NULL,
	"sweeps" integer NOT NULL,
	"first_started_at" timestamp with time zone NOT NULL,
	"first_ended_at" timestamp with time zone NOT NULL,
	"last_started_at" timestamp with time zone NOT NULL,
	"last_ended_at" timestamp with time zone NOT NULL,
	"requests" bigint NOT NULL,
	"pages" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"records" bigint NOT NULL,
	CONSTRAINT "sweep_days_key" UNIQUE NULLS NOT DISTINCT("account_id","stream","mode","window_name","day"),
	CONSTRAINT "sweep_days_window_name_check" CHECK (("sync"."sweep_days"."window_name" IS NOT NULL) = ("sync"."sweep_days"."mode" = 'window')),
	CONSTRAINT "sweep_days_sweeps_check" CHECK ("sync"."sweep_days"."sweeps" > 0)
);
--> statement-breakpoint
ALTER TABLE "sync"."sweep_days" ADD CONSTRAINT "sweep_days_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sweeps_quiet_idx" ON "sync"."sweeps" USING btree ("ended_at") WHERE state IN ('certified', 'refreshed') AND inserted + updated + revived + tombstoned + vanished + quarantined = 0;--> statement-breakpoint
CREATE INDEX "quarantine_sweep_id_idx" ON "sync"."quarantine" USING btree ("sweep_id") WHERE sweep_id IS NOT NULL;