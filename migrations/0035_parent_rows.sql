CREATE INDEX "customer_notes_parent_row_id_idx" ON "warehouse"."customer_notes" USING btree ("parent_row_id") WHERE parent_row_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_parent_row_id_idx" ON "warehouse"."jobs" USING btree ("parent_row_id") WHERE parent_row_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "job_employees_parent_row_id_idx" ON "warehouse"."job_employees" USING btree ("parent_row_id") WHERE parent_row_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "job_charges_parent_row_id_idx" ON "warehouse"."job_charges" USING btree ("parent_row_id") WHERE parent_row_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "time_entries_parent_row_id_idx" ON "warehouse"."time_entries" USING btree ("parent_row_id") WHERE parent_row_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "job_notes_parent_row_id_idx" ON "warehouse"."job_notes" USING btree ("parent_row_id") WHERE parent_row_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "feed_entries_told_idx" ON "sync"."feed_entries" USING btree ("entry_id") WHERE application IS NOT NULL OR written_by IS NOT NULL;