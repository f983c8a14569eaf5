CREATE SCHEMA mart;
--> statement-breakpoint
CREATE SCHEMA history;
--> statement-breakpoint
-- Who wrote what no sweep wrote. Sweeps leave their number in the row.
CREATE TABLE history.edits (
	row_id bigint NOT NULL,
	table_name text NOT NULL,
	at timestamptz NOT NULL,
	kind text NOT NULL,
	written_by text NOT NULL,
	application text,
	CONSTRAINT edits_pkey PRIMARY KEY (row_id, table_name, at),
	CONSTRAINT edits_kind_check CHECK (kind IN ('insert', 'update', 'delete'))
);
