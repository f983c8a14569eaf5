CREATE TABLE "sync"."door_requests" (
	"account_id" bigint NOT NULL,
	"idempotency_key" text NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"results" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"requested_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "door_requests_pkey" PRIMARY KEY("account_id","idempotency_key")
);
--> statement-breakpoint
ALTER TABLE "sync"."door_requests" ADD CONSTRAINT "door_requests_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "door_requests_requested_at_idx" ON "sync"."door_requests" USING btree ("account_id","requested_at");
--> statement-breakpoint
SELECT sync.grant_roles();
