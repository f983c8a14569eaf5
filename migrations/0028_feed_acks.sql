CREATE TABLE "sync"."feed_acks" (
	"account_id" bigint NOT NULL,
	"reader" text NOT NULL,
	"cursor" text NOT NULL,
	"state" jsonb,
	"acked_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "feed_acks_pkey" PRIMARY KEY("account_id","reader"),
	CONSTRAINT "feed_acks_state_check" CHECK (octet_length("sync"."feed_acks"."state"::text) <= 8192)
);
--> statement-breakpoint
ALTER TABLE "sync"."feed_acks" ADD CONSTRAINT "feed_acks_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;