ALTER TABLE "sync"."sweeps" ADD COLUMN "holder" text;--> statement-breakpoint
ALTER TABLE "sync"."changes" ADD COLUMN "holder" text;--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" ADD COLUMN "holder" text;--> statement-breakpoint
ALTER TABLE "sync"."alert_looks" ADD COLUMN "holder" text;--> statement-breakpoint
ALTER TABLE "sync"."delivery_targets" ADD COLUMN "holder" text;--> statement-breakpoint
ALTER TABLE "sync"."report_mails" ADD COLUMN "holder" text;--> statement-breakpoint
ALTER TABLE "sync"."prunings" ADD COLUMN "holder" text;--> statement-breakpoint
ALTER TABLE "sync"."feed_hooks" ADD COLUMN "holder" text;