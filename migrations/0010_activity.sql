CREATE INDEX "sweeps_ended_at_idx" ON "sync"."sweeps" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "changes_settled_at_idx" ON "sync"."changes" USING btree ("settled_at");