-- Cancel what of a workflow has not ended: at once what waits, by a request what runs; its callbacks are left to its
-- end. By hand, so it may wait for rows, in the order of their ids; what it waited for is evaluated again (rule 1).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
open AS MATERIALIZED (
    SELECT job.id
    FROM conveyor_job AS job
    WHERE job.workflow_id = %(id)s::bigint AND job.workflow_role IS NULL
      AND job.state IN ('blocked', 'ready', 'running', 'scheduled')
    ORDER BY job.id
    FOR NO KEY UPDATE
)
UPDATE conveyor_job AS job
SET state = CASE WHEN job.state = 'running' THEN 'running' ELSE 'cancelled' END,
    parked = NULL,
    cancel_requested_at = coalesce(job.cancel_requested_at, (SELECT now FROM clock)),
    finished_at = CASE WHEN job.state = 'running' THEN NULL ELSE (SELECT now FROM clock) END
WHERE job.id = ANY (ARRAY(SELECT open.id FROM open))
RETURNING job.id, job.state
