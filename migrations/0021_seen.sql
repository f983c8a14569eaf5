ALTER TABLE "sync"."changes" ADD COLUMN "seen" jsonb;--> statement-breakpoint
CREATE INDEX "feed_entries_row_id_idx" ON "sync"."feed_entries" USING btree ("row_id","table_name");--> statement-breakpoint
ALTER TABLE "sync"."changes" ADD CONSTRAINT "changes_seen_check" CHECK ("sync"."changes"."seen" <> '{}');