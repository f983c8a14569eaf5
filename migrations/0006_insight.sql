CREATE TABLE "mart"."dim_date" (
	"date" date PRIMARY KEY NOT NULL,
	"year" integer NOT NULL,
	"quarter" integer NOT NULL,
	"month" integer NOT NULL,
	"month_name" text NOT NULL,
	"day_of_month" integer NOT NULL,
	"weekday" integer NOT NULL,
	"weekday_name" text NOT NULL,
	"iso_year" integer NOT NULL,
	"iso_week" integer NOT NULL,
	"week" date NOT NULL,
	"week_from_sunday" date NOT NULL,
	"month_start" date NOT NULL,
	"month_end" date NOT NULL,
	"quarter_start" date NOT NULL,
	"is_weekend" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mart"."dim_job_state" (
	"job_state" text PRIMARY KEY NOT NULL,
	"place" smallint NOT NULL,
	"is_open" boolean NOT NULL,
	"label" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mart"."settings" (
	"account_key" bigint PRIMARY KEY NOT NULL,
	"currency" text,
	"working_hours" numeric[],
	"repeat_visit_days" integer,
	"on_time_grace_minutes" integer,
	CONSTRAINT "settings_currency_check" CHECK ("mart"."settings"."currency" ~ '^[A-Z]{3}$'),
	CONSTRAINT "settings_working_hours_check" CHECK (cardinality("mart"."settings"."working_hours") = 7 AND 0 <= ALL ("mart"."settings"."working_hours") AND 24 >= ALL ("mart"."settings"."working_hours")),
	CONSTRAINT "settings_repeat_visit_days_check" CHECK ("mart"."settings"."repeat_visit_days" BETWEEN 1 AND 365),
	CONSTRAINT "settings_on_time_grace_minutes_check" CHECK ("mart"."settings"."on_time_grace_minutes" BETWEEN 0 AND 1440)
);
--> statement-breakpoint
CREATE TABLE "mart"."capacity" (
	"employee_key" bigint PRIMARY KEY NOT NULL,
	"working_hours" numeric[] NOT NULL,
	CONSTRAINT "capacity_working_hours_check" CHECK (cardinality("mart"."capacity"."working_hours") = 7 AND 0 <= ALL ("mart"."capacity"."working_hours") AND 24 >= ALL ("mart"."capacity"."working_hours"))
);
--> statement-breakpoint
CREATE TABLE "mart"."closed_days" (
	"account_key" bigint NOT NULL,
	"date" date NOT NULL,
	"name" text NOT NULL,
	CONSTRAINT "closed_days_pkey" PRIMARY KEY("account_key","date")
);
--> statement-breakpoint
CREATE TABLE "mart"."labels" (
	"account_key" bigint NOT NULL,
	"kind" text NOT NULL,
	"id" bigint NOT NULL,
	"label" text NOT NULL,
	CONSTRAINT "labels_pkey" PRIMARY KEY("account_key","kind","id"),
	CONSTRAINT "labels_kind_check" CHECK ("mart"."labels"."kind" IN ('customer_type', 'customer_source', 'job_charge_type', 'time_entry_type', 'task_type'))
);
--> statement-breakpoint
CREATE TABLE "mart"."reported" (
	"account_key" bigint NOT NULL,
	"week" date NOT NULL,
	"metric" text NOT NULL,
	"value" numeric NOT NULL,
	"known_as_of" timestamp with time zone NOT NULL,
	CONSTRAINT "reported_pkey" PRIMARY KEY("account_key","metric","week","known_as_of")
);
--> statement-breakpoint
INSERT INTO mart.dim_date
SELECT day, extract(year FROM day), extract(quarter FROM day), extract(month FROM day), to_char(day, 'FMMonth'), extract(day FROM day),
       extract(isodow FROM day), to_char(day, 'FMDay'), extract(isoyear FROM day), extract(week FROM day), date_trunc('week', day)::date,
       day - extract(dow FROM day)::integer, date_trunc('month', day)::date, (date_trunc('month', day) + interval '1 month - 1 day')::date,
       date_trunc('quarter', day)::date, extract(isodow FROM day) > 5
  FROM (SELECT at::date AS day FROM generate_series(timestamp '2000-01-01', timestamp '2049-12-31', interval '1 day') AS at) AS days;
--> statement-breakpoint
INSERT INTO mart.dim_job_state VALUES
  ('estimate', 1, false, 'Estimate'), ('unscheduled', 2, true, 'Waits for a date'), ('scheduled', 3, true, 'Scheduled'),
  ('in_progress', 4, true, 'In progress'), ('completed', 5, false, 'Completed'), ('cancelled', 6, false, 'Cancelled'), ('lost', 7, false, 'Lost');
--> statement-breakpoint
CREATE TABLE "sync"."stale_jobs" (
	"account_id" bigint,
	"job_number" bigint,
	"customer_id" bigint,
	"noted_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sync"."weekly_reports" (
	"account_id" bigint NOT NULL,
	"week" date NOT NULL,
	"file" text NOT NULL,
	"made_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "weekly_reports_pkey" PRIMARY KEY("account_id","week")
);
--> statement-breakpoint
CREATE SCHEMA "masked";
