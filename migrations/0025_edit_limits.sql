CREATE TABLE "sync"."edit_limits" (
	"account_id" bigint NOT NULL,
	"table_name" text NOT NULL,
	"most_rows" integer,
	"most_percent" numeric,
	CONSTRAINT "edit_limits_pkey" PRIMARY KEY("account_id","table_name"),
	CONSTRAINT "edit_limits_one_check" CHECK (("sync"."edit_limits"."most_rows" IS NULL) <> ("sync"."edit_limits"."most_percent" IS NULL)),
	CONSTRAINT "edit_limits_range_check" CHECK (least("sync"."edit_limits"."most_rows", "sync"."edit_limits"."most_percent") >= 0),
	CONSTRAINT "edit_limits_percent_check" CHECK ("sync"."edit_limits"."most_percent" <= 100)
);
--> statement-breakpoint
DROP INDEX "sync"."changes_transaction_id_idx";--> statement-breakpoint
ALTER TABLE "sync"."changes" ADD COLUMN "is_large" boolean;--> statement-breakpoint
ALTER TABLE "sync"."edit_limits" ADD CONSTRAINT "edit_limits_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "changes_transaction_id_idx" ON "sync"."changes" USING btree ("transaction_id","change_id");