CREATE TABLE "sync"."alert_rules" (
	"rule_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."alert_rules_rule_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"receiver" text NOT NULL,
	"target" text NOT NULL,
	"sealed_access" "bytea",
	"key_id" text,
	"account_id" bigint,
	"causes" text[],
	"quiet_ms" bigint NOT NULL,
	"every_ms" bigint,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_by" text DEFAULT session_user NOT NULL,
	CONSTRAINT "alert_rules_name_key" UNIQUE("name"),
	CONSTRAINT "alert_rules_receiver_check" CHECK ("sync"."alert_rules"."receiver" IN ('webhook', 'slack', 'email', 'ping')),
	CONSTRAINT "alert_rules_sealed_access_check" CHECK (("sync"."alert_rules"."sealed_access" IS NULL) = ("sync"."alert_rules"."key_id" IS NULL) AND ("sync"."alert_rules"."receiver" = 'email' OR "sync"."alert_rules"."sealed_access" IS NOT NULL)),
	CONSTRAINT "alert_rules_causes_check" CHECK ("sync"."alert_rules"."causes" <> '{}' AND "sync"."alert_rules"."causes" <@ ARRAY['stopped-account', 'unserved', 'no-worker', 'overdue', 'unproven', 'failed', 'approval', 'no-room', 'quarantine', 'change-conflict', 'change-altered', 'change-rejected', 'change-in-doubt', 'change-failing', 'change-untaken', 'change-held', 'drift', 'star-behind', 'growth', 'alerts-failing']),
	CONSTRAINT "alert_rules_quiet_ms_check" CHECK ("sync"."alert_rules"."quiet_ms" >= 0),
	CONSTRAINT "alert_rules_every_ms_check" CHECK (("sync"."alert_rules"."every_ms" IS NOT NULL) = ("sync"."alert_rules"."receiver" = 'ping') AND "sync"."alert_rules"."every_ms" > 0)
);
--> statement-breakpoint
CREATE TABLE "sync"."alerts" (
	"alert_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."alerts_alert_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"cause" text NOT NULL,
	"account_id" bigint,
	"stream" text,
	"subject" text DEFAULT '' NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"text" text NOT NULL,
	"next_step" text,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	"mended_at" timestamp with time zone,
	CONSTRAINT "alerts_cause_check" CHECK ("sync"."alerts"."cause" IN ('stopped-account', 'unserved', 'no-worker', 'overdue', 'unproven', 'failed', 'approval', 'no-room', 'quarantine', 'change-conflict', 'change-altered', 'change-rejected', 'change-in-doubt', 'change-failing', 'change-untaken', 'change-held', 'drift', 'star-behind', 'growth', 'alerts-failing')),
	CONSTRAINT "alerts_mended_at_check" CHECK ("sync"."alerts"."mended_at" >= "sync"."alerts"."opened_at")
);
--> statement-breakpoint
CREATE TABLE "sync"."alert_deliveries" (
	"delivery_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."alert_deliveries_delivery_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"rule_id" bigint NOT NULL,
	"alert_id" bigint,
	"kind" text NOT NULL,
	"digest_id" bigint,
	"message_id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"state" text DEFAULT 'due' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_until" timestamp with time zone,
	"last_error" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"sent_at" timestamp with time zone,
	CONSTRAINT "alert_deliveries_key" UNIQUE("rule_id","alert_id","kind"),
	CONSTRAINT "alert_deliveries_message_id_key" UNIQUE("message_id"),
	CONSTRAINT "alert_deliveries_kind_check" CHECK ("sync"."alert_deliveries"."kind" IN ('opened', 'mended', 'digest', 'ping')),
	CONSTRAINT "alert_deliveries_state_check" CHECK ("sync"."alert_deliveries"."state" IN ('due', 'sending', 'sent', 'folded', 'dropped', 'failed')),
	CONSTRAINT "alert_deliveries_alert_id_check" CHECK (("sync"."alert_deliveries"."alert_id" IS NOT NULL) = ("sync"."alert_deliveries"."kind" IN ('opened', 'mended'))),
	CONSTRAINT "alert_deliveries_digest_id_check" CHECK (("sync"."alert_deliveries"."digest_id" IS NOT NULL) = ("sync"."alert_deliveries"."state" = 'folded') AND ("sync"."alert_deliveries"."digest_id" IS NULL OR "sync"."alert_deliveries"."alert_id" IS NOT NULL)),
	CONSTRAINT "alert_deliveries_lease_until_check" CHECK (("sync"."alert_deliveries"."lease_until" IS NOT NULL) = ("sync"."alert_deliveries"."state" = 'sending')),
	CONSTRAINT "alert_deliveries_attempts_check" CHECK ("sync"."alert_deliveries"."attempts" >= 0 AND "sync"."alert_deliveries"."fence" >= "sync"."alert_deliveries"."attempts"),
	CONSTRAINT "alert_deliveries_sent_at_check" CHECK (CASE "sync"."alert_deliveries"."kind" WHEN 'ping' THEN "sync"."alert_deliveries"."state" IN ('due', 'sending') ELSE ("sync"."alert_deliveries"."sent_at" IS NOT NULL) = ("sync"."alert_deliveries"."state" = 'sent') END),
	CONSTRAINT "alert_deliveries_last_error_check" CHECK ("sync"."alert_deliveries"."state" <> 'failed' OR "sync"."alert_deliveries"."last_error" IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "sync"."alert_looks" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"fence" integer DEFAULT 1 NOT NULL,
	"looked_at" timestamp with time zone,
	"lease_until" timestamp with time zone,
	CONSTRAINT "alert_looks_is_only_check" CHECK ("sync"."alert_looks"."is_only")
);
--> statement-breakpoint
ALTER TABLE "sync"."alert_rules" ADD CONSTRAINT "alert_rules_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."alerts" ADD CONSTRAINT "alerts_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" ADD CONSTRAINT "alert_deliveries_rule_id_alert_rules_rule_id_fk" FOREIGN KEY ("rule_id") REFERENCES "sync"."alert_rules"("rule_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" ADD CONSTRAINT "alert_deliveries_alert_id_alerts_alert_id_fk" FOREIGN KEY ("alert_id") REFERENCES "sync"."alerts"("alert_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" ADD CONSTRAINT "alert_deliveries_digest_id_alert_deliveries_delivery_id_fk" FOREIGN KEY ("digest_id") REFERENCES "sync"."alert_deliveries"("delivery_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "alerts_open_key" ON "sync"."alerts" USING btree ("cause",coalesce(account_id, 0),coalesce(stream, ''),"subject") WHERE mended_at IS NULL;--> statement-breakpoint
CREATE INDEX "alerts_thing_idx" ON "sync"."alerts" USING btree ("cause","subject");--> statement-breakpoint
CREATE INDEX "alerts_mended_at_idx" ON "sync"."alerts" USING btree ("mended_at");--> statement-breakpoint
CREATE UNIQUE INDEX "alert_deliveries_ping_key" ON "sync"."alert_deliveries" USING btree ("rule_id") WHERE kind = 'ping';--> statement-breakpoint
CREATE INDEX "alert_deliveries_due_at_idx" ON "sync"."alert_deliveries" USING btree ("due_at") WHERE state IN ('due', 'sending');--> statement-breakpoint
CREATE INDEX "alert_deliveries_open_idx" ON "sync"."alert_deliveries" USING btree ("rule_id") WHERE state IN ('due', 'sending', 'failed');--> statement-breakpoint
CREATE INDEX "alert_deliveries_sent_at_idx" ON "sync"."alert_deliveries" USING btree ("rule_id","sent_at");--> statement-breakpoint
CREATE INDEX "alert_deliveries_alert_id_idx" ON "sync"."alert_deliveries" USING btree ("alert_id");--> statement-breakpoint
CREATE INDEX "alert_deliveries_digest_id_idx" ON "sync"."alert_deliveries" USING btree ("digest_id");