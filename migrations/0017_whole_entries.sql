DROP TABLE "sync"."file_settings" CASCADE;--> statement-breakpoint
DROP TABLE "sync"."capacity_to_come" CASCADE;