ALTER TABLE "sync"."changes" ADD COLUMN "batch" text;--> statement-breakpoint
ALTER TABLE "sync"."changes" ADD COLUMN "transaction_id" bigint;--> statement-breakpoint
ALTER TABLE "sync"."changes" ADD COLUMN "undoes" bigint[];--> statement-breakpoint
CREATE INDEX "changes_batch_idx" ON "sync"."changes" USING btree ("batch") WHERE batch IS NOT NULL;--> statement-breakpoint
CREATE INDEX "changes_transaction_id_idx" ON "sync"."changes" USING btree ("transaction_id");--> statement-breakpoint
ALTER TABLE "sync"."changes" ADD CONSTRAINT "changes_batch_check" CHECK (length("sync"."changes"."batch") BETWEEN 1 AND 200);