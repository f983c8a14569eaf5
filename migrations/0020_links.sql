CREATE TABLE "sync"."links" (
	"link_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."links_link_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"system" text NOT NULL,
	"account_id" bigint NOT NULL,
	"table_name" text NOT NULL,
	"key" text NOT NULL,
	"row_id" bigint NOT NULL,
	"since" timestamp with time zone DEFAULT now() NOT NULL,
	"linked_by" text NOT NULL,
	"until" timestamp with time zone,
	CONSTRAINT "links_system_check" CHECK ("sync"."links"."system" ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$' AND "sync"."links"."system" <> 'default'),
	CONSTRAINT "links_key_check" CHECK (length("sync"."links"."key") BETWEEN 1 AND 200),
	CONSTRAINT "links_until_check" CHECK ("sync"."links"."until" >= "sync"."links"."since")
);
--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ADD COLUMN "system" text DEFAULT 'default' NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."author_accounts" ADD COLUMN "system" text DEFAULT 'default' NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."links" ADD CONSTRAINT "links_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "links_key" ON "sync"."links" USING btree ("account_id","table_name","key","system") WHERE until IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "links_row_id" ON "sync"."links" USING btree ("row_id","table_name","system") WHERE until IS NULL;--> statement-breakpoint
ALTER TABLE "sync"."api_keys" ADD CONSTRAINT "api_keys_system_check" CHECK ("sync"."api_keys"."system" ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$');--> statement-breakpoint
ALTER TABLE "sync"."author_accounts" ADD CONSTRAINT "author_accounts_system_check" CHECK ("sync"."author_accounts"."system" ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$');