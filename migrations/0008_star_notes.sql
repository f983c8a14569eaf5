-- A note of before has no numbers now: it has every job looked at once.
ALTER TABLE "sync"."stale_jobs" ADD COLUMN "job_numbers" bigint[];--> statement-breakpoint
ALTER TABLE "sync"."stale_jobs" ADD COLUMN "customer_ids" bigint[];--> statement-breakpoint
ALTER TABLE "sync"."stale_jobs" DROP COLUMN "job_number";--> statement-breakpoint
ALTER TABLE "sync"."stale_jobs" DROP COLUMN "customer_id";
