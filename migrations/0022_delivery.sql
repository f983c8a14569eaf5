CREATE TABLE "sync"."delivery_targets" (
	"name" text PRIMARY KEY NOT NULL,
	"place" text NOT NULL,
	"endpoint" text,
	"region" text,
	"keep" integer DEFAULT 30 NOT NULL,
	"added_at" timestamp with time zone DEFAULT now() NOT NULL,
	"fence" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp with time zone,
	"begun_at" timestamp with time zone,
	"step" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"failing_since" timestamp with time zone,
	"last_error" text,
	CONSTRAINT "delivery_targets_keep_check" CHECK ("sync"."delivery_targets"."keep" >= 1),
	CONSTRAINT "delivery_targets_attempts_check" CHECK ("sync"."delivery_targets"."attempts" >= 0)
);
--> statement-breakpoint
CREATE TABLE "sync"."snapshots" (
	"target" text NOT NULL,
	"name" text NOT NULL,
	"known_as_of" timestamp with time zone NOT NULL,
	"delivered_at" timestamp with time zone DEFAULT now() NOT NULL,
	"sweep_ids" bigint[] NOT NULL,
	"files" integer NOT NULL,
	"rows" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"manifest_sha256" text NOT NULL,
	"broken_ties" text[] NOT NULL,
	CONSTRAINT "snapshots_pkey" PRIMARY KEY("target","name")
);
--> statement-breakpoint
ALTER TABLE "sync"."snapshots" ADD CONSTRAINT "snapshots_target_delivery_targets_name_fk" FOREIGN KEY ("target") REFERENCES "sync"."delivery_targets"("name") ON DELETE cascade ON UPDATE no action;