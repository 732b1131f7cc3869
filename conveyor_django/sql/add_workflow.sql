-- Begin a workflow; its jobs and edges follow in the same transaction.
INSERT INTO conveyor_workflow (name, created_at)
VALUES (%(name)s::text, coalesce(%(now)s::timestamptz, statement_timestamp()))
RETURNING id
