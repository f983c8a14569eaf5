CREATE TABLE "sync"."installation" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"system_identifier" text NOT NULL,
	"database_oid" bigint NOT NULL,
	"server_started_at" timestamp with time zone NOT NULL,
	"names" text[] NOT NULL,
	"claimed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"claimed_by" text DEFAULT current_user NOT NULL,
	CONSTRAINT "installation_is_only_check" CHECK ("sync"."installation"."is_only")
);
--> statement-breakpoint
ALTER TABLE "sync"."alert_rules" DROP CONSTRAINT "alert_rules_causes_check";--> statement-breakpoint
ALTER TABLE "sync"."alerts" DROP CONSTRAINT "alerts_cause_check";--> statement-breakpoint
ALTER TABLE "sync"."alert_rules" ADD CONSTRAINT "alert_rules_causes_check" CHECK ("sync"."alert_rules"."causes" <> '{}' AND "sync"."alert_rules"."causes" <@ ARRAY['copy', 'stopped-account', 'unserved', 'no-worker', 'overdue', 'unproven', 'failed', 'approval', 'no-room', 'quarantine', 'change-conflict', 'change-altered', 'change-rejected', 'change-in-doubt', 'change-failing', 'change-untaken', 'change-held', 'drift', 'star-behind', 'growth', 'alerts-failing']);--> statement-breakpoint
ALTER TABLE "sync"."alerts" ADD CONSTRAINT "alerts_cause_check" CHECK ("sync"."alerts"."cause" IN ('copy', 'stopped-account', 'unserved', 'no-worker', 'overdue', 'unproven', 'failed', 'approval', 'no-room', 'quarantine', 'change-conflict', 'change-altered', 'change-rejected', 'change-in-doubt', 'change-failing', 'change-untaken', 'change-held', 'drift', 'star-behind', 'growth', 'alerts-failing'));