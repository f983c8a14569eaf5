CREATE TABLE "sync"."known_pages" (
	"account_id" bigint NOT NULL,
	"stream" text NOT NULL,
	"page" integer NOT NULL,
	"digest" "bytea" NOT NULL,
	"hashes" "bytea" NOT NULL,
	CONSTRAINT "known_pages_pkey" PRIMARY KEY("account_id","stream","page")
);
--> statement-breakpoint
ALTER TABLE "sync"."accounts" ADD COLUMN "page_key" uuid DEFAULT gen_random_uuid() NOT NULL;