CREATE TABLE "sync"."assistant_scopes" (
	"transaction_id" bigint PRIMARY KEY NOT NULL,
	"account_id" bigint NOT NULL,
	"names" boolean NOT NULL
);
