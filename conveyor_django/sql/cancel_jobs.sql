-- Cancel many jobs: at once those that wait, by a request those that run. None is waited for (rule 2): what somebody
-- has locked, or has ended, is not in the answer.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
chosen AS MATERIALIZED (
    SELECT job.id
    FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT open.id
        FROM conveyor_job AS open
        -- `|| ''` keeps the planner off the partial indexes of the states, which old statistics make look empty.
        WHERE open.id = given.id AND open.state || '' IN ('blocked', 'scheduled', 'ready', 'running')
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS job
)
UPDATE conveyor_job AS job
SET state = CASE WHEN job.state = 'running' THEN 'running' ELSE 'cancelled' END,
    parked = NULL,
    cancel_requested_at = coalesce(job.cancel_requested_at, (SELECT now FROM clock)),
    finished_at = CASE WHEN job.state = 'running' THEN NULL ELSE (SELECT now FROM clock) END
WHERE job.id = ANY (ARRAY(SELECT chosen.id FROM chosen))
RETURNING job.id, job.state
