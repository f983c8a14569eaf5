ALTER TABLE "sync"."alerts" RENAME COLUMN "mended_at" TO "resolved_at";--> statement-breakpoint
ALTER TABLE "sync"."alerts" DROP CONSTRAINT "alerts_mended_at_check";--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" DROP CONSTRAINT "alert_deliveries_kind_check";--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" DROP CONSTRAINT "alert_deliveries_alert_id_check";--> statement-breakpoint
UPDATE "sync"."alert_deliveries" SET kind = 'resolved' WHERE kind = 'mended';--> statement-breakpoint
DROP INDEX "sync"."alerts_mended_at_idx";--> statement-breakpoint
DROP INDEX "sync"."alerts_open_key";--> statement-breakpoint
CREATE INDEX "alerts_resolved_at_idx" ON "sync"."alerts" USING btree ("resolved_at");--> statement-breakpoint
CREATE UNIQUE INDEX "alerts_open_key" ON "sync"."alerts" USING btree ("cause",coalesce(account_id, 0),coalesce(stream, ''),"subject") WHERE resolved_at IS NULL;--> statement-breakpoint
ALTER TABLE "sync"."alerts" ADD CONSTRAINT "alerts_resolved_at_check" CHECK ("sync"."alerts"."resolved_at" >= "sync"."alerts"."opened_at");--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" ADD CONSTRAINT "alert_deliveries_kind_check" CHECK ("sync"."alert_deliveries"."kind" IN ('opened', 'resolved', 'digest', 'ping'));--> statement-breakpoint
ALTER TABLE "sync"."alert_deliveries" ADD CONSTRAINT "alert_deliveries_alert_id_check" CHECK (("sync"."alert_deliveries"."alert_id" IS NOT NULL) = ("sync"."alert_deliveries"."kind" IN ('opened', 'resolved')));