CREATE TABLE "sync"."door_keys" (
	"door_key_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."door_keys_door_key_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"account_id" bigint NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"may_write" boolean NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_by" text DEFAULT session_user NOT NULL,
	"last_used_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "door_keys_key_hash_key" UNIQUE("key_hash"),
	CONSTRAINT "door_keys_name_key" UNIQUE("name"),
	CONSTRAINT "door_keys_key_hash_check" CHECK (length("sync"."door_keys"."key_hash") = 32)
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
ALTER TABLE "sync"."accounts" ADD COLUMN "employee_id" bigint;--> statement-breakpoint
ALTER TABLE "sync"."door_keys" ADD CONSTRAINT "door_keys_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."employee_logins" ADD CONSTRAINT "employee_logins_change_id_changes_change_id_fk" FOREIGN KEY ("change_id") REFERENCES "sync"."changes"("change_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."employee_logins" ADD CONSTRAINT "employee_logins_login_key_id_login_keys_login_key_id_fk" FOREIGN KEY ("login_key_id") REFERENCES "sync"."login_keys"("login_key_id") ON DELETE no action ON UPDATE no action;