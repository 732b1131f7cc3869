-- Run failed and cancelled jobs of a workflow again: those that need one another wait again, and the callbacks among
-- them wait for the workflow, which is not finished any more. The caller holds it and these jobs (lock_dead_jobs).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
again AS MATERIALIZED (
    SELECT job.id, job.workflow_id, job.workflow_role IS NOT NULL AS is_callback, job.state
    FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT dead.id, dead.workflow_id, dead.workflow_role, dead.state
        FROM conveyor_job AS dead
        WHERE dead.id = given.id AND dead.state || '' IN ('failed', 'cancelled')
        LIMIT 1
    ) AS job
),
-- A callback that was cancelled because it did not apply is no reason to run anything.
worth AS MATERIALIZED (
    SELECT coalesce(bool_or(NOT again.is_callback OR again.state = 'failed'), false) AS it FROM again
),
reopened AS (
    UPDATE conveyor_workflow AS workflow
    SET finished_at = NULL
    WHERE workflow.id = ANY (ARRAY(SELECT again.workflow_id FROM again)) AND (SELECT it FROM worth)
),
-- What succeeded is not run again, so an edge to it stays resolved.
unresolved AS (
    UPDATE conveyor_dependency AS edge
    SET resolved = false
    WHERE edge.job_id = ANY (ARRAY(SELECT again.id FROM again))
      AND edge.needs_id = ANY (ARRAY(SELECT again.id FROM again))
      AND edge.resolved
),
pending AS MATERIALIZED (
    SELECT again.id,
           CASE WHEN again.is_callback THEN 1 ELSE (
               SELECT count(*)
               FROM conveyor_dependency AS edge
               WHERE edge.job_id = again.id
                 AND (NOT edge.resolved OR edge.needs_id = ANY (ARRAY(SELECT again.id FROM again)))
           ) END AS edges
    FROM again
    WHERE (SELECT it FROM worth)
)
UPDATE conveyor_job AS job
SET (state, pending_dependencies, ready_seq) = (
        SELECT CASE WHEN pending.edges > 0 THEN 'blocked' ELSE 'ready' END, pending.edges,
               CASE WHEN pending.edges > 0 THEN job.ready_seq ELSE nextval('conveyor_ready_seq') END
        FROM pending
        WHERE pending.id = job.id),
    attempt = 0, lost_count = 0, release_count = 0,
    run_at = (SELECT now FROM clock),
    cancel_requested_at = NULL, finished_at = NULL
WHERE job.id = ANY (ARRAY(SELECT pending.id FROM pending))
RETURNING job.id, job.queue, job.state, job.workflow_role IS NOT NULL
