ALTER TABLE "sync"."alert_looks" RENAME TO "alert_checks";--> statement-breakpoint
ALTER TABLE "sync"."alert_checks" RENAME COLUMN "looked_at" TO "checked_at";--> statement-breakpoint
ALTER TABLE "sync"."alert_checks" RENAME CONSTRAINT "alert_looks_pkey" TO "alert_checks_pkey";--> statement-breakpoint
ALTER TABLE "sync"."alert_checks" RENAME CONSTRAINT "alert_looks_is_only_check" TO "alert_checks_is_only_check";--> statement-breakpoint
ALTER TABLE "sync"."tombstones" RENAME COLUMN "words" TO "message";--> statement-breakpoint
ALTER TABLE "sync"."tombstones" RENAME COLUMN "asked_at" TO "requested_at";--> statement-breakpoint
ALTER TABLE "sync"."absent_numbers" RENAME COLUMN "words" TO "message";--> statement-breakpoint
ALTER TABLE "sync"."absent_numbers" RENAME COLUMN "asked_at" TO "requested_at";--> statement-breakpoint
ALTER TABLE "sync"."changes" RENAME COLUMN "looks" TO "checks";--> statement-breakpoint
ALTER TABLE "sync"."alterations" RENAME COLUMN "looked_at" TO "accepted_at";--> statement-breakpoint
ALTER TABLE "sync"."alterations" RENAME COLUMN "looked_by" TO "accepted_by";--> statement-breakpoint
ALTER TABLE "sync"."alterations" RENAME CONSTRAINT "alterations_looked_at_check" TO "alterations_accepted_at_check";--> statement-breakpoint
UPDATE "sync"."sweeps"
   SET "evidence" = jsonb_set("evidence" #- '{absent,words}', '{absent,message}', "evidence" #> '{absent,words}')
 WHERE "evidence" #> '{absent,words}' IS NOT NULL;
