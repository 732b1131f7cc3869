-- Delete finished workflows past their retention of which no job is left; prune_jobs has taken their jobs and edges.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock_class)s::integer, %(lock_id)s::integer) AS mine
),
doomed AS MATERIALIZED (
    SELECT workflow.id
    FROM conveyor_workflow AS workflow
    WHERE (SELECT mine FROM turn)
      AND workflow.finished_at IS NOT NULL
      -- No job of it can have gone before the shortest retention, so the index range stays small.
      AND workflow.finished_at < (SELECT now FROM clock) - make_interval(secs => least(
              %(retention)s::float8, %(failed_retention)s::float8,
              (SELECT min(retention_seconds) FROM conveyor_queue)))
      AND NOT EXISTS (SELECT FROM conveyor_job AS job WHERE job.workflow_id = workflow.id)
    ORDER BY workflow.finished_at
    LIMIT %(limit)s::integer
    FOR UPDATE OF workflow SKIP LOCKED
)
DELETE FROM conveyor_workflow WHERE id = ANY (ARRAY(SELECT id FROM doomed))
RETURNING id
