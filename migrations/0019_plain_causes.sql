ALTER TABLE "sync"."alert_rules" DROP CONSTRAINT "alert_rules_causes_check";--> statement-breakpoint
ALTER TABLE "sync"."alerts" DROP CONSTRAINT "alerts_cause_check";--> statement-breakpoint
ALTER TABLE "sync"."alert_rules" ADD CONSTRAINT "alert_rules_causes_check" CHECK ("sync"."alert_rules"."causes"::text ~ '^\{[a-z](-?[a-z]){0,49}(,[a-z](-?[a-z]){0,49})*\}$');--> statement-breakpoint
ALTER TABLE "sync"."alerts" ADD CONSTRAINT "alerts_cause_check" CHECK ("sync"."alerts"."cause" ~ '^[a-z](-?[a-z]){0,49}$');