-- Put jobs back in line whose task is not paused any more: one index probe per task that has parked jobs.
WITH RECURSIVE found (task) AS (
    (SELECT task FROM conveyor_job WHERE state = 'ready' AND parked = 'task' ORDER BY task LIMIT 1)
    UNION ALL
    SELECT (SELECT job.task FROM conveyor_job AS job
            WHERE job.state = 'ready' AND job.parked = 'task' AND job.task > found.task
            ORDER BY job.task LIMIT 1)
    FROM found
    WHERE found.task IS NOT NULL
),
chosen AS MATERIALIZED (
    SELECT job.id
    FROM found
    CROSS JOIN LATERAL (
        SELECT waiting.id
        FROM conveyor_job AS waiting
        WHERE waiting.state = 'ready' AND waiting.parked = 'task' AND waiting.task = found.task
        LIMIT %(limit)s::integer
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS job
    WHERE found.task <> ALL (ARRAY(SELECT task FROM conveyor_pausedtask))
    LIMIT %(limit)s::integer
)
UPDATE conveyor_job AS job
SET parked = NULL
WHERE job.id = ANY (ARRAY(SELECT chosen.id FROM chosen))
RETURNING job.id, job.queue
