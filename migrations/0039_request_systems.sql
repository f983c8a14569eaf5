ALTER TABLE "sync"."api_requests" ADD COLUMN "system" text DEFAULT 'default' NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."api_requests" DROP CONSTRAINT "api_requests_pkey";
--> statement-breakpoint
ALTER TABLE "sync"."api_requests" ADD CONSTRAINT "api_requests_pkey" PRIMARY KEY("account_id","system","idempotency_key");--> statement-breakpoint
ALTER TABLE "sync"."api_requests" ADD CONSTRAINT "api_requests_system_check" CHECK ("sync"."api_requests"."system" ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$');