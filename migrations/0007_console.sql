CREATE TABLE "sync"."sessions" (
	"session_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."sessions_session_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"token_hash" "bytea" NOT NULL,
	"way_in" text NOT NULL,
	"api_key_id" bigint,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"account_id" bigint,
	"masks" boolean NOT NULL,
	"address" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "sessions_token_hash_key" UNIQUE("token_hash"),
	CONSTRAINT "sessions_way_in_check" CHECK ("sync"."sessions"."way_in" IN ('key', 'link', 'proxy')),
	CONSTRAINT "sessions_api_key_id_check" CHECK (("sync"."sessions"."api_key_id" IS NOT NULL) = ("sync"."sessions"."way_in" = 'key')),
	CONSTRAINT "sessions_role_check" CHECK ("sync"."sessions"."role" IN ('viewer', 'operator', 'admin')),
	CONSTRAINT "sessions_token_hash_check" CHECK (length("sync"."sessions"."token_hash") = 32)
);
--> statement-breakpoint
CREATE TABLE "sync"."sign_in_codes" (
	"code_hash" "bytea" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone,
	CONSTRAINT "sign_in_codes_role_check" CHECK ("sync"."sign_in_codes"."role" IN ('viewer', 'operator', 'admin')),
	CONSTRAINT "sign_in_codes_code_hash_check" CHECK (length("sync"."sign_in_codes"."code_hash") = 32)
);
--> statement-breakpoint
CREATE TABLE "sync"."audit" (
	"audit_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."audit_audit_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"session_id" bigint,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"address" text NOT NULL,
	"action" text NOT NULL,
	"account_id" bigint,
	"subject" text NOT NULL,
	"before" jsonb,
	"after" jsonb
);
--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ALTER COLUMN "account_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ADD COLUMN "role" text;--> statement-breakpoint
UPDATE "sync"."api_keys" SET "role" = CASE WHEN "may_write" THEN 'operator' ELSE 'viewer' END;--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ALTER COLUMN "role" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ADD COLUMN "masks" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."sessions" ADD CONSTRAINT "sessions_api_key_id_api_keys_api_key_id_fk" FOREIGN KEY ("api_key_id") REFERENCES "sync"."api_keys"("api_key_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."sessions" ADD CONSTRAINT "sessions_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sessions_expires_at_idx" ON "sync"."sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "audit_at_idx" ON "sync"."audit" USING btree ("at");--> statement-breakpoint
ALTER TABLE "sync"."api_keys" DROP COLUMN "may_write";--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ADD CONSTRAINT "api_keys_role_check" CHECK ("sync"."api_keys"."role" IN ('viewer', 'operator', 'admin'));--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ADD CONSTRAINT "api_keys_admin_check" CHECK ("sync"."api_keys"."role" <> 'admin' OR "sync"."api_keys"."account_id" IS NULL);--> statement-breakpoint
ALTER TABLE "sync"."workers" ADD COLUMN "console_url" text;
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TABLE "sync"."file_settings" (
	"section" text NOT NULL,
	"path" text[] NOT NULL,
	"value" jsonb NOT NULL,
	"file" text NOT NULL,
	"applied_at" timestamp with time zone DEFAULT now() NOT NULL,
	"applied_by" text DEFAULT current_user NOT NULL,
	CONSTRAINT "file_settings_pkey" PRIMARY KEY("section","path")
);
--> statement-breakpoint
CREATE TABLE "sync"."capacity_to_come" (
	"account_id" bigint NOT NULL,
	"employee_number" bigint NOT NULL,
	"working_hours" numeric[] NOT NULL,
	CONSTRAINT "capacity_to_come_pkey" PRIMARY KEY("account_id","employee_number"),
	CONSTRAINT "capacity_to_come_working_hours_check" CHECK (cardinality("sync"."capacity_to_come"."working_hours") = 7 AND 0 <= ALL ("sync"."capacity_to_come"."working_hours") AND 24 >= ALL ("sync"."capacity_to_come"."working_hours"))
);
--> statement-breakpoint
ALTER TABLE "sync"."capacity_to_come" ADD CONSTRAINT "capacity_to_come_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "sweeps_ended_at_idx" ON "sync"."sweeps" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "changes_settled_at_idx" ON "sync"."changes" USING btree ("settled_at");
--> statement-breakpoint
CREATE INDEX "employees_search_idx" ON "warehouse"."employees" USING gin ((array_to_tsvector(array_remove(regexp_split_to_array(lower(COALESCE("left"("name", 200), ''::text) || ' ' || COALESCE("left"("email_address", 200), ''::text) || ' ' || reverse(translate(COALESCE("left"("home_phone", 200), ''::text) || ',' || COALESCE("left"("cell_phone", 200), ''::text), ' ()-./+'::text, ''::text))), '\W+'::text), ''::text))));--> statement-breakpoint
CREATE INDEX "customers_search_idx" ON "warehouse"."customers" USING gin ((array_to_tsvector(array_remove(regexp_split_to_array(lower(COALESCE("left"("name", 200), ''::text) || ' ' || COALESCE("left"("company_name", 200), ''::text) || ' ' || COALESCE("left"("last_name", 200), ''::text) || ' ' || COALESCE("left"("email_address", 200), ''::text) || ' ' || reverse(translate(COALESCE("left"("phone_number", 200), ''::text) || ',' || COALESCE("left"("alt_phone_number", 200), ''::text) || ',' || COALESCE("left"("mobile", 200), ''::text), ' ()-./+'::text, ''::text))), '\W+'::text), ''::text))));--> statement-breakpoint
CREATE INDEX "jobs_search_idx" ON "warehouse"."jobs" USING gin ((array_to_tsvector(array_remove(regexp_split_to_array(lower(COALESCE("left"("name", 200), ''::text)), '\W+'::text), ''::text))));--> statement-breakpoint
CREATE INDEX "tasks_search_idx" ON "warehouse"."tasks" USING gin ((array_to_tsvector(array_remove(regexp_split_to_array(lower(COALESCE("left"("name", 200), ''::text)), '\W+'::text), ''::text))));
