DROP INDEX "sync"."changes_settled_at_idx";--> statement-breakpoint
CREATE INDEX "changes_settled_idx" ON "sync"."changes" USING btree ("settled_at","account_id","state") WHERE settled_at IS NOT NULL;