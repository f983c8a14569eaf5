CREATE TABLE "sync"."feed_entries" (
	"entry_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."feed_entries_entry_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"position" bigint,
	"account_id" bigint NOT NULL,
	"table_name" text NOT NULL,
	"row_id" bigint,
	"operation" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"written_by" text,
	"application" text,
	"change_id" bigint,
	CONSTRAINT "feed_entries_position_key" UNIQUE("position"),
	CONSTRAINT "feed_entries_operation_check" CHECK ("sync"."feed_entries"."operation" IN ('created', 'changed', 'removed', 'loaded')),
	CONSTRAINT "feed_entries_row_id_check" CHECK (("sync"."feed_entries"."row_id" IS NULL) = ("sync"."feed_entries"."operation" = 'loaded'))
);
--> statement-breakpoint
CREATE TABLE "sync"."feed_state" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"feed_id" text DEFAULT left(translate(gen_random_uuid()::text, '-', ''), 12) NOT NULL,
	"last_position" bigint DEFAULT 0 NOT NULL,
	"removed_to" bigint DEFAULT 0 NOT NULL,
	"keep_days" integer DEFAULT 30 NOT NULL,
	CONSTRAINT "feed_state_is_only_check" CHECK ("sync"."feed_state"."is_only"),
	CONSTRAINT "feed_state_positions_check" CHECK (0 <= "sync"."feed_state"."removed_to" AND "sync"."feed_state"."removed_to" <= "sync"."feed_state"."last_position"),
	CONSTRAINT "feed_state_keep_days_check" CHECK ("sync"."feed_state"."keep_days" >= 1)
);
--> statement-breakpoint
CREATE TABLE "sync"."feed_starts" (
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"began_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "feed_starts_pkey" PRIMARY KEY("account_id","stream")
);
--> statement-breakpoint
ALTER TABLE "sync"."feed_starts" ADD CONSTRAINT "feed_starts_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "feed_entries_waiting_idx" ON "sync"."feed_entries" USING btree ("entry_id") WHERE position IS NULL;
--> statement-breakpoint
-- Written by hand. There is one row of the state; and the streams that were read as a whole before there was a feed have begun.
INSERT INTO "sync"."feed_state" DEFAULT VALUES;
--> statement-breakpoint
INSERT INTO "sync"."feed_starts" ("account_id", "stream") SELECT DISTINCT "account_id", "stream" FROM "sync"."sweeps" WHERE "mode" = 'full' AND "state" IN ('certified', 'uncertified', 'stopped');
