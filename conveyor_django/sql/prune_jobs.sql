-- Delete ended jobs past their retention, with payload, ledger, attempts and edges; a queue's own retention wins. What
-- belongs to a workflow stays until that is finished: others of its jobs may still ask for the results.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now,
           -- The ledger's trigger lets nothing else delete; gone with the transaction.
           set_config('conveyor.pruning', 'on', true) AS pruning
),
turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock_class)s::integer, %(lock_id)s::integer) AS mine
),
doomed AS MATERIALIZED (
    SELECT job.id
    FROM conveyor_job AS job
    WHERE (SELECT mine AND pruning = 'on' FROM turn CROSS JOIN clock)
      AND job.state IN ('succeeded', 'failed', 'cancelled')
      -- No retention at all is shorter than the shortest, so the index range stays small.
      AND job.finished_at < (SELECT now FROM clock) - make_interval(secs => least(
              %(retention)s::float8, %(failed_retention)s::float8,
              (SELECT min(retention_seconds) FROM conveyor_queue)))
      AND job.finished_at < (SELECT now FROM clock) - make_interval(secs => CASE
              WHEN job.state = 'failed' THEN %(failed_retention)s::float8
              ELSE coalesce((SELECT retention_seconds FROM conveyor_queue WHERE name = job.queue),
                            %(retention)s::float8) END)
      AND coalesce((SELECT workflow.finished_at IS NOT NULL FROM conveyor_workflow AS workflow
                    WHERE workflow.id = job.workflow_id), true)
    ORDER BY job.finished_at
    LIMIT %(limit)s::integer
    FOR UPDATE OF job SKIP LOCKED
),
payloads AS (DELETE FROM conveyor_payload WHERE job_id = ANY (ARRAY(SELECT id FROM doomed))),
ledgers AS (DELETE FROM conveyor_ledger WHERE job_id = ANY (ARRAY(SELECT id FROM doomed))),
attempts AS (DELETE FROM conveyor_attempt WHERE job_id = ANY (ARRAY(SELECT id FROM doomed))),
edges AS (DELETE FROM conveyor_dependency WHERE job_id = ANY (ARRAY(SELECT id FROM doomed)))
DELETE FROM conveyor_job WHERE id = ANY (ARRAY(SELECT id FROM doomed))
RETURNING id
