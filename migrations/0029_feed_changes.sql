ALTER TABLE "sync"."feed_entries" DROP CONSTRAINT "feed_entries_operation_check";--> statement-breakpoint
ALTER TABLE "sync"."feed_entries" DROP CONSTRAINT "feed_entries_row_id_check";--> statement-breakpoint
ALTER TABLE "sync"."feed_entries" ADD CONSTRAINT "feed_entries_operation_check" CHECK ("sync"."feed_entries"."operation" IN ('created', 'changed', 'removed', 'loaded', 'done', 'rejected', 'conflict', 'cancelled'));--> statement-breakpoint
ALTER TABLE "sync"."feed_entries" ADD CONSTRAINT "feed_entries_row_id_check" CHECK (("sync"."feed_entries"."row_id" IS NOT NULL)
        = ("sync"."feed_entries"."operation" IN ('created', 'changed', 'removed')));