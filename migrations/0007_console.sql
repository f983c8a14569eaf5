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
