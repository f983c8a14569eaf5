ALTER TABLE "sync"."api_keys" ADD COLUMN "holds_deletes" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "sync"."author_accounts" ADD COLUMN "holds_deletes" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "links_ended_row_id_idx" ON "sync"."links" USING btree ("row_id","table_name","system") WHERE until IS NOT NULL;