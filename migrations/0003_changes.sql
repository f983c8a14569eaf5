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
	"is_open" boolean GENERATED ALWAYS AS (state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict')) STORED NOT NULL,
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
	CONSTRAINT "changes_settled_at_check" CHECK (("sync"."changes"."settled_at" IS NULL) = "sync"."changes"."is_open"),
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
	"read_at" timestamp with time zone,
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
CREATE TABLE "sync"."captured_tables" (
	"table_name" text PRIMARY KEY NOT NULL,
	"key_column" text NOT NULL,
	"operations" text[] NOT NULL,
	"parent_table" text,
	"parent_number_column" text,
	"hint" text NOT NULL,
	CONSTRAINT "captured_tables_operations_check" CHECK ("sync"."captured_tables"."operations" <@ ARRAY['create', 'update', 'delete'] AND array_position("sync"."captured_tables"."operations", NULL) IS NULL),
	CONSTRAINT "captured_tables_parent_check" CHECK (("sync"."captured_tables"."parent_table" IS NULL) = ("sync"."captured_tables"."parent_number_column" IS NULL))
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
CREATE TABLE "sync"."change_transitions" (
	"from_state" text NOT NULL,
	"to_state" text NOT NULL,
	"why" text NOT NULL,
	CONSTRAINT "change_transitions_pkey" PRIMARY KEY("from_state","to_state")
);
--> statement-breakpoint
CREATE TABLE "sync"."api_keys" (
	"api_key_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."api_keys_api_key_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"account_id" bigint NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"may_write" boolean NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_by" text DEFAULT session_user NOT NULL,
	"last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_keys_key_hash_key" UNIQUE("key_hash"),
	CONSTRAINT "api_keys_name_key" UNIQUE("name"),
	CONSTRAINT "api_keys_key_hash_check" CHECK (length("sync"."api_keys"."key_hash") = 32)
);
--> statement-breakpoint
CREATE TABLE "sync"."api_requests" (
	"account_id" bigint NOT NULL,
	"idempotency_key" text NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"results" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"requested_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "api_requests_pkey" PRIMARY KEY("account_id","idempotency_key")
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
ALTER TABLE "sync"."changes" ADD CONSTRAINT "changes_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."attempts" ADD CONSTRAINT "attempts_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."alterations" ADD CONSTRAINT "alterations_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."conflicts" ADD CONSTRAINT "conflicts_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."api_requests" ADD CONSTRAINT "api_requests_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."employee_logins" ADD CONSTRAINT "employee_logins_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."employee_logins" ADD CONSTRAINT "employee_logins_login_key_id_login_keys_login_key_id_fk" FOREIGN KEY ("login_key_id") REFERENCES "sync"."login_keys"("login_key_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "sync"."author_accounts" ADD CONSTRAINT "author_accounts_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "changes_on_its_way_key" ON "sync"."changes" USING btree ("table_name","row_id") WHERE state IN ('sending', 'in_doubt');
--> statement-breakpoint
CREATE UNIQUE INDEX "changes_create_on_its_way_key" ON "sync"."changes" USING btree ("fingerprint") WHERE operation = 'create' AND state IN ('sending', 'in_doubt');
--> statement-breakpoint
CREATE UNIQUE INDEX "changes_created_key" ON "sync"."changes" USING btree ("number","table_name","account_id") WHERE operation = 'create' AND number IS NOT NULL;
--> statement-breakpoint
CREATE INDEX "changes_ready_idx" ON "sync"."changes" USING btree ("account_id","due_at","change_id") WHERE state IN ('pending', 'in_doubt') AND waits_for IS NULL;
--> statement-breakpoint
CREATE INDEX "changes_sending_idx" ON "sync"."changes" USING btree ("lease_until") WHERE state = 'sending';
--> statement-breakpoint
CREATE INDEX "changes_open_idx" ON "sync"."changes" USING btree ("row_id","table_name","change_id") WHERE is_open;
--> statement-breakpoint
CREATE INDEX "changes_open_number_idx" ON "sync"."changes" USING btree ("number","table_name") WHERE is_open;
--> statement-breakpoint
CREATE INDEX "changes_rejected_idx" ON "sync"."changes" USING btree ("account_id","settled_at") WHERE state = 'rejected';
--> statement-breakpoint
CREATE INDEX "changes_waits_for_idx" ON "sync"."changes" USING btree ("waits_for") WHERE waits_for IS NOT NULL;
--> statement-breakpoint
CREATE INDEX "changes_row_id_idx" ON "sync"."changes" USING btree ("row_id","table_name","change_id");
--> statement-breakpoint
CREATE INDEX "changes_sent_again_idx" ON "sync"."changes" USING btree ("row_id","table_name") WHERE sends > 1 AND operation <> 'create';
--> statement-breakpoint
CREATE INDEX "attempts_change_id_idx" ON "sync"."attempts" USING btree ("change_id");
--> statement-breakpoint
CREATE INDEX "alterations_change_id_idx" ON "sync"."alterations" USING btree ("change_id");
--> statement-breakpoint
CREATE INDEX "alterations_kind_idx" ON "sync"."alterations" USING btree ("account_id","kind");
--> statement-breakpoint
CREATE INDEX "alterations_stop_idx" ON "sync"."alterations" USING btree ("account_id","kind") WHERE is_stop;
--> statement-breakpoint
CREATE INDEX "alterations_open_idx" ON "sync"."alterations" USING btree ("account_id","found_at") WHERE looked_at IS NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX "conflicts_undecided_key" ON "sync"."conflicts" USING btree ("change_id","field") WHERE winner IS NULL;
--> statement-breakpoint
CREATE INDEX "conflicts_change_id_idx" ON "sync"."conflicts" USING btree ("change_id");
--> statement-breakpoint
CREATE INDEX "api_requests_requested_at_idx" ON "sync"."api_requests" USING btree ("account_id","requested_at");
