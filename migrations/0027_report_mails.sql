CREATE TABLE "sync"."report_lists" (
	"name" text PRIMARY KEY NOT NULL,
	"addresses" text[] NOT NULL,
	"account_id" bigint,
	"weekday" smallint NOT NULL,
	"at" time NOT NULL,
	"added_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "report_lists_addresses_check" CHECK (cardinality("sync"."report_lists"."addresses") >= 1),
	CONSTRAINT "report_lists_weekday_check" CHECK ("sync"."report_lists"."weekday" BETWEEN 1 AND 7)
);
--> statement-breakpoint
CREATE TABLE "sync"."report_mails" (
	"mail_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sync"."report_mails_mail_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"list" text NOT NULL,
	"account_id" bigint NOT NULL,
	"week" date NOT NULL,
	"address" text NOT NULL,
	"message_id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"state" text DEFAULT 'due' NOT NULL,
	"subject" text,
	"body_text" text,
	"body_html" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"repeats" integer DEFAULT 0 NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_until" timestamp with time zone,
	"last_error" text,
	"made_at" timestamp with time zone DEFAULT now() NOT NULL,
	"sent_at" timestamp with time zone,
	CONSTRAINT "report_mails_key" UNIQUE("list","account_id","week","address"),
	CONSTRAINT "report_mails_message_id_key" UNIQUE("message_id"),
	CONSTRAINT "report_mails_state_check" CHECK ("sync"."report_mails"."state" IN ('due', 'sending', 'sent', 'failed')),
	CONSTRAINT "report_mails_lease_until_check" CHECK (("sync"."report_mails"."lease_until" IS NOT NULL) = ("sync"."report_mails"."state" = 'sending')),
	CONSTRAINT "report_mails_sent_at_check" CHECK (("sync"."report_mails"."sent_at" IS NOT NULL) = ("sync"."report_mails"."state" = 'sent')),
	CONSTRAINT "report_mails_last_error_check" CHECK ("sync"."report_mails"."state" <> 'failed' OR "sync"."report_mails"."last_error" IS NOT NULL)
);
--> statement-breakpoint
ALTER TABLE "mart"."reported" ADD COLUMN "list" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."report_lists" ADD CONSTRAINT "report_lists_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."report_mails" ADD CONSTRAINT "report_mails_list_report_lists_name_fk" FOREIGN KEY ("list") REFERENCES "sync"."report_lists"("name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync"."report_mails" ADD CONSTRAINT "report_mails_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "report_mails_due_at_idx" ON "sync"."report_mails" USING btree ("due_at") WHERE state IN ('due', 'sending');--> statement-breakpoint
ALTER TABLE "mart"."reported" DROP CONSTRAINT "reported_pkey";
--> statement-breakpoint
ALTER TABLE "mart"."reported" ADD CONSTRAINT "reported_pkey" PRIMARY KEY("account_key","metric","week","known_as_of","list");