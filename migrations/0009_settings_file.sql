CREATE TABLE "sync"."file_settings" (
	"section" text NOT NULL,
	"path" text[] NOT NULL,
	"value" jsonb NOT NULL,
	"file" text NOT NULL,
	"applied_at" timestamp with time zone DEFAULT now() NOT NULL,
	"applied_by" text DEFAULT current_user NOT NULL,
	CONSTRAINT "file_settings_pkey" PRIMARY KEY("section","path")
);
--> statement-breakpoint
CREATE TABLE "sync"."capacity_to_come" (
	"account_id" bigint NOT NULL,
	"employee_number" bigint NOT NULL,
	"working_hours" numeric[] NOT NULL,
	CONSTRAINT "capacity_to_come_pkey" PRIMARY KEY("account_id","employee_number"),
	CONSTRAINT "capacity_to_come_working_hours_check" CHECK (cardinality("sync"."capacity_to_come"."working_hours") = 7 AND 0 <= ALL ("sync"."capacity_to_come"."working_hours") AND 24 >= ALL ("sync"."capacity_to_come"."working_hours"))
);
--> statement-breakpoint
ALTER TABLE "sync"."capacity_to_come" ADD CONSTRAINT "capacity_to_come_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "sync"."accounts"("account_id") ON DELETE no action ON UPDATE no action;