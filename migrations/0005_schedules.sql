ALTER TABLE "sync"."schedules" RENAME COLUMN "last_rung_at" TO "last_requested_at";
