CREATE TABLE "sync"."deletion_limits" (
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"most_rows" integer,
	"most_percent" numeric,
	CONSTRAINT "deletion_limits_pkey" PRIMARY KEY("account_id","stream"),
	CONSTRAINT "deletion_limits_one_check" CHECK (("sync"."deletion_limits"."most_rows" IS NULL) <> ("sync"."deletion_limits"."most_percent" IS NULL)),
	CONSTRAINT "deletion_limits_range_check" CHECK ("sync"."deletion_limits"."most_rows" >= 0 OR ("sync"."deletion_limits"."most_percent" >= 0 AND "sync"."deletion_limits"."most_percent" <= 100))
);
--> statement-breakpoint
ALTER TABLE "sync"."deletion_limits" ADD CONSTRAINT "deletion_limits_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;