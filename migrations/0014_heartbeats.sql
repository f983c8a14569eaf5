CREATE TABLE "sync"."heartbeats" (
	"worker_id" uuid NOT NULL,
	"part" text NOT NULL,
	"good_at" timestamp with time zone NOT NULL,
	"begun_at" timestamp with time zone,
	"last_error" text,
	"noted_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "heartbeats_pkey" PRIMARY KEY("worker_id","part")
);
--> statement-breakpoint
ALTER TABLE "sync"."alert_rules" DROP CONSTRAINT "alert_rules_causes_check";--> statement-breakpoint
ALTER TABLE "sync"."alerts" DROP CONSTRAINT "alerts_cause_check";--> statement-breakpoint
ALTER TABLE "sync"."workers" ADD COLUMN "sends_mail" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."alert_rules" ADD CONSTRAINT "alert_rules_causes_check" CHECK ("sync"."alert_rules"."causes" <> '{}' AND "sync"."alert_rules"."causes" <@ ARRAY['copy', 'stopped-account', 'unserved', 'no-worker', 'overdue', 'unproven', 'failed', 'approval', 'no-room', 'quarantine', 'change-conflict', 'change-altered', 'change-rejected', 'change-in-doubt', 'change-failing', 'change-untaken', 'change-held', 'drift', 'star-behind', 'growth', 'alerts-failing', 'hook-failing', 'part-late']);--> statement-breakpoint
ALTER TABLE "sync"."alerts" ADD CONSTRAINT "alerts_cause_check" CHECK ("sync"."alerts"."cause" IN ('copy', 'stopped-account', 'unserved', 'no-worker', 'overdue', 'unproven', 'failed', 'approval', 'no-room', 'quarantine', 'change-conflict', 'change-altered', 'change-rejected', 'change-in-doubt', 'change-failing', 'change-untaken', 'change-held', 'drift', 'star-behind', 'growth', 'alerts-failing', 'hook-failing', 'part-late'));